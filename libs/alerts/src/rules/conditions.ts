import type { AlertRuleName } from '@muster/contracts';

const maxWaitingRuns = 100;

interface SubjectSql {
  /** SQL for the type, id and name of the subject, and for the ids by which the filters of channels select alerts. */
  type: string;
  id: string;
  name: string;
  workflowId?: string;
  agentId?: string;
  audience?: string;
  count?: string;
}

/** SQL for the columns of one subject, and the organization and channels of its rule `r`. */
function selectSubjectSql({
  type,
  id,
  name,
  workflowId = 'NULL',
  agentId = 'NULL',
  audience = 'NULL',
  count = '1',
}: SubjectSql): string {
  return `SELECT r.organization_id, r.channel_ids, ${type} AS subject_type, ${id}::text AS subject_id,
    ${name}::text AS subject_name, ${workflowId}::uuid AS workflow_id, ${agentId}::uuid AS agent_id,
    ${audience}::text[] AS audience, ${count} AS count`;
}

const selectQuestion = selectSubjectSql({
  ...{ type: "'question'", id: 'q.id', name: 'q.question', workflowId: 'q.workflow_id', agentId: 'q.agent_id' },
  audience: 'q.audience',
});
const selectAgent = selectSubjectSql({ type: "'agent'", id: 'g.id', name: 'g.name', agentId: 'g.id' });
const selectJob = selectSubjectSql({
  ...{ type: "'job'", id: 'j.id', name: 'w.name', workflowId: 'j.workflow_id', agentId: 'j.agent_id' },
});
const selectLimit = selectSubjectSql({ type: "'limit'", id: "'monthlySpendLimitUsd'", name: "'Monthly spend limit'" });
const selectQueue = selectSubjectSql({ type: "'queue'", id: 'o.queue', name: 'o.queue', count: 'o.count' });
const selectEndpoint = selectSubjectSql({
  type: "CASE WHEN w.name IS NULL THEN 'webhook_endpoint' ELSE 'notification_channel' END",
  id: 'w.id',
  // The host stands for an endpoint without a description, because the rest of its URL may be a secret.
  name: "COALESCE(w.name, NULLIF(w.description, ''), regexp_replace(split_part(w.url, '/', 3), '^.*@', ''), w.kind)",
});

/**
 * For each rule that follows from a state: the SQL for the subjects for which the rule's condition holds now, in the
 * organizations in which the rule is on. If there is no such organization, each statement costs one index lookup.
 */
export const conditions: Partial<Record<AlertRuleName, string>> = {
  // Only the runs that have waited longest, so that a queue of thousands of runs does not open thousands of alerts.
  run_waiting: `${selectJob}
    FROM alert_rule r CROSS JOIN LATERAL (
      SELECT id, workflow_id, agent_id FROM job
      WHERE organization_id = r.organization_id AND status = 'queued'
        AND GREATEST(queued_at, not_before) <= muster_now() - (r.options->>'minutes')::int * interval '1 minute'
      ORDER BY id LIMIT ${maxWaitingRuns}) j
    JOIN workflow w ON w.id = j.workflow_id WHERE r.rule = 'run_waiting' AND r.enabled`,
  question_asked: `${selectQuestion} FROM alert_rule r
    JOIN question q ON q.organization_id = r.organization_id AND q.status = 'open'
    WHERE r.rule = 'question_asked' AND r.enabled`,
  question_expiring: `${selectQuestion} FROM alert_rule r
    JOIN question q ON q.organization_id = r.organization_id AND q.status = 'open'
      AND q.expires_at <= muster_now() + (r.options->>'minutes')::int * interval '1 minute'
    WHERE r.rule = 'question_expiring' AND r.enabled`,
  agent_offline: `${selectAgent} FROM alert_rule r
    JOIN agent g ON g.organization_id = r.organization_id AND g.status = 'offline'
      AND (g.current_job_id IS NOT NULL OR EXISTS (SELECT FROM job j
        WHERE j.agent_id = g.id AND j.status = 'queued' AND j.not_before <= muster_now()))
    WHERE r.rule = 'agent_offline' AND r.enabled`,
  // An external machine is left out because the service cannot stop it, a pinned one because a person wants it on.
  machine_on_without_reason: `${selectAgent} FROM alert_rule r
    JOIN agent g ON g.organization_id = r.organization_id AND g.status = 'online' AND g.provider <> 'external'
      AND NOT g.idle_auto_stop_exempt AND g.current_job_id IS NULL AND g.autopilot_session_id IS NULL
      AND GREATEST(g.last_activity_at, g.on_since, g.status_since)
        <= muster_now() - (r.options->>'hours')::int * interval '1 hour'
      AND NOT EXISTS (SELECT FROM job j WHERE j.agent_id = g.id AND j.status = 'queued')
    WHERE r.rule = 'machine_on_without_reason' AND r.enabled`,
  spend: `${selectLimit} FROM alert_rule r
    JOIN organization_settings s ON s.organization_id = r.organization_id
    JOIN usage_counter u ON u.organization_id = r.organization_id
      AND u.month = date_trunc('month', muster_now() AT TIME ZONE 'UTC')::date
    WHERE r.rule = 'spend' AND r.enabled
      AND u.spend_micros * 100 >= s.monthly_spend_limit_micros * (r.options->>'percent')::int`,
  webhook_disabled: `${selectEndpoint} FROM alert_rule r
    JOIN webhook_endpoint w ON w.organization_id = r.organization_id AND NOT w.enabled
      AND w.turned_off_reason IS NOT NULL
    WHERE r.rule = 'webhook_disabled' AND r.enabled`,
  dead_letter: `${selectQueue} FROM alert_rule r CROSS JOIN LATERAL (
      SELECT queue, count(*)::int AS count FROM outbox
      WHERE organization_id = r.organization_id AND next_publish_at IS NULL GROUP BY queue) o
    WHERE r.rule = 'dead_letter' AND r.enabled`,
};

/** For each rule that follows from events: the SQL condition that the cause of an open alert `a` has ended. */
export const endedSql: Partial<Record<AlertRuleName, string>> = {
  // A completed run resolves the alert when its event is evaluated.
  run_failed: 'NOT EXISTS (SELECT FROM workflow w WHERE w.id = a.subject_id::uuid)',
  schedule_missed: `NOT EXISTS (SELECT FROM schedule s WHERE s.id = a.subject_id::uuid AND s.enabled
    AND (s.last_result IS DISTINCT FROM 'launched' OR s.last_run_at <= a.last_at))`,
  wake_failed: `NOT EXISTS (SELECT FROM agent g
    WHERE g.id = a.subject_id::uuid AND g.status NOT IN ('online', 'draining', 'terminated'))`,
  account_set_aside: `NOT EXISTS (SELECT FROM account c WHERE c.organization_id = a.organization_id
    AND c.id = a.subject_id::uuid AND c.set_aside_since IS NOT NULL)`,
};
