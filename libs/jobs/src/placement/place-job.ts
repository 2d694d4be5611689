import type { TargetPreference } from '@muster/contracts';
import { buildRowStatements, type Database, type JobEntity } from '@muster/database';
import { waitsForAccountSql } from '../accounts/accounts-sql';
import { waitsForKeySql } from '../dispatch/concurrency-keys';
import { decidePlacement, type FitCounts } from '../dispatch/decide-placement';
import type { Dispatch } from '../dispatch/dispatch';
import { type WakeParts, wakeAgentsForJobs } from './wake-agents';
import { setReasonOfTargetGroup, setReasonOfUnplacedJob } from './set-reasons';
import { agentHasLabelsSql, countAgentsSql, fitCountColumns, isIdleAgentSql } from './fitting-agents';
import { startOrderSql } from './unplaced-queue';

interface Look extends Pick<JobEntity, 'organizationId'> {
  /** Null if the job does not wait for a placement. */
  id: JobEntity['id'] | null;
  targetGroup: string;
  targetPrefer: TargetPreference;
  autoWake: boolean;
  waitsForKey: boolean;
  waitsForAccount: boolean;
  idle: { agentId: string; lastActivityMs: number | null }[] | null;
  fits: number;
  ahead: number;
  counts: FitCounts | null;
}

export interface PlacementParts extends WakeParts {
  database: Database;
  dispatch: Pick<Dispatch, 'startNextJob'>;
}

/**
 * Outcome of a placement. `gone`: it does not wait for a placement any more, for example because an agent has started
 * it concurrently, or it has failed.
 */
export type PlacementOutcome = 'started' | 'gone' | 'waiting';

/**
 * Starts a job without an agent on an idle agent that fits it, or records what the job waits for and wakes an agent. The agent starts its
 * own next job, which may be another one; then the next idle agent is tried.
 */
export async function placeJob(
  { database, dispatch, ...wakes }: PlacementParts,
  jobId: string,
  { wholeGroup = false } = {},
): Promise<PlacementOutcome> {
  const tried: string[] = [];
  for (;;) {
    const statement = { alone: lookAtAgents, together: lookAtAgents, values: [jobId, tried.join()] };
    const [look] = await database.sharedQuery<Look & { member: number }>('system', statement, jobId);
    if (!look?.id) return 'gone';
    const heldUp = look.waitsForKey ? 'concurrency_key' : look.waitsForAccount ? 'account_busy' : null;
    const decision = decidePlacement({
      prefer: look.targetPrefer,
      idle: look.idle ?? [],
      ahead: look.ahead,
      counts: look.counts,
      autoWake: look.autoWake,
      heldUp,
    });
    if (decision.action === 'wait') {
      const { organizationId, targetGroup } = look;
      await database.transaction({ organizationId }, async (tx) => {
        setReasonOfUnplacedJob(tx, { jobId, waiting: decision.waiting });
        // A full key or pool is the reason of this job alone; the others may need neither.
        if (wholeGroup && !heldUp)
          setReasonOfTargetGroup(tx, { organizationId, targetGroup, waiting: decision.waiting });
      });
      if (decision.mayWake && look.counts && look.counts.off > 0)
        await wakeAgentsForJobs(database, organizationId, wakes);
      return 'waiting';
    }
    const chosen = { jobId, why: decision.why, considered: look.fits };
    const outcome = await dispatch.startNextJob(decision.agentId, undefined, chosen);
    // The agent could take the job, but the job waits for something else, or has failed.
    if (outcome.jobId === jobId)
      return outcome.action === 'start' ? 'started' : outcome.action === 'wait' ? 'waiting' : 'gone';
    // A job of the agent that failed before its start leaves the agent idle.
    if (outcome.action !== 'fail') tried.push(decision.agentId);
  }
}

/** Maximum number of idle agents among which one is chosen, the best by the job's preference. */
const maxIdle = 32;

/**
 * Finds, for each job, the agents that could start it now, best first, and the number of jobs with the same labels that
 * start before it; at most as many of these are counted as agents were found. It is one statement for any number of
 * agents and jobs. The agents are read once for each set of labels, because that takes longer than everything else if
 * there are a thousand agents. The states of all fitting agents are counted only if none is idle.
 */
const lookAtAgents = buildRowStatements(
  'look_at_agents',
  { job_id: 'uuid', tried: 'text' },
  (rows) => `
  WITH looked AS MATERIALIZED (
    SELECT input.member, input.tried, j.id, j.organization_id, j.target_group, j.target_labels, j.target_prefer,
           j.priority, j.queued_at, s.vm_auto_wake_on_job AS auto_wake,
           ${waitsForKeySql('j')} AS waits_for_key, ${waitsForAccountSql('j')} AS waits_for_account
    FROM ${rows} JOIN job j ON j.id = input.job_id
    JOIN organization_settings s ON s.organization_id = j.organization_id
    WHERE j.status = 'queued' AND j.agent_id IS NULL AND j.cancel_requested_at IS NULL
      AND j.target_labels IS NOT NULL AND j.not_before <= muster_now()
      AND NOT EXISTS (SELECT FROM batch b WHERE b.id = j.batch_id AND b.cancel_requested_at IS NOT NULL)),
  target AS MATERIALIZED (
    SELECT DISTINCT organization_id, target_group, target_labels, target_prefer, tried FROM looked),
  found AS MATERIALIZED (
    SELECT t.organization_id, t.target_group, t.target_prefer, t.tried, i.idle, i.fits,
           CASE WHEN i.idle IS NULL THEN i.counts END AS counts
    FROM target t CROSS JOIN LATERAL (
      WITH fitting AS MATERIALIZED (
        SELECT a.id, a.last_activity_at, ${fitCountColumns}, ${isIdleAgentSql('a')} AS is_idle
        FROM agent a WHERE ${agentHasLabelsSql('a', 't.organization_id', 't.target_labels')})
      SELECT (SELECT count(*)::int FROM fitting) AS fits, ${countAgentsSql('fitting a')} AS counts,
        (SELECT json_agg(json_build_object('agentId', best.id,
                 'lastActivityMs', extract(epoch FROM best.last_activity_at) * 1000))
         FROM (SELECT a.id, a.last_activity_at FROM fitting a
               WHERE a.is_idle AND a.id <> ALL(string_to_array(t.tried, ',')::uuid[])
               ORDER BY CASE t.target_prefer WHEN 'spread' THEN a.last_activity_at END NULLS FIRST,
                        CASE t.target_prefer WHEN 'spread' THEN NULL ELSE a.last_activity_at END DESC NULLS LAST, a.id
               LIMIT ${maxIdle}) best) AS idle) i)
  SELECT input.member, l.id, l.organization_id, l.target_group, l.target_prefer, l.auto_wake, l.waits_for_key,
         l.waits_for_account, l.idle, l.fits, l.counts,
         CASE WHEN json_array_length(l.idle) > 1 THEN (
           SELECT count(*) FILTER (WHERE (-f.priority, f.queued_at, f.id) < (-l.priority, l.queued_at, l.id))::int
           FROM (SELECT f.priority, f.queued_at, f.id FROM job f
                 WHERE f.organization_id = l.organization_id AND f.target_group = l.target_group
                   AND f.status = 'queued' AND f.agent_id IS NULL
                 ORDER BY ${startOrderSql} LIMIT json_array_length(l.idle)) f)
         ELSE 0 END AS ahead
  FROM ${rows} LEFT JOIN (
    SELECT looked.*, found.idle, found.fits, found.counts FROM looked JOIN found ON found.organization_id = looked.organization_id
      AND found.target_group = looked.target_group AND found.target_prefer = looked.target_prefer
      AND found.tried = looked.tried) l ON l.member = input.member`,
);
