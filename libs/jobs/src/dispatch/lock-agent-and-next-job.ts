import { type PushFacts, pushColumns } from '@muster/commands';
import {
  type AgentEntity,
  type JobEntity,
  type OrganizationSettingsEntity,
  buildStatementForRow,
  buildRowStatements,
  type Transaction,
  type WorkflowRevisionEntity,
} from '@muster/database';
import { spendingLimitColumnsSql, type LimitFacts, getBillingMonth } from '@muster/pricing';
import { agentHasLabelsSql, isIdleAgentSql } from '../placement/fitting-agents';
import {
  firstJobsOfGroupSql,
  isNextSql,
  isStartableSql,
  startOrderSql,
  waitingTargetGroupsSql,
} from '../placement/unplaced-queue';
import type { StartFacts } from './start-run-span';

export interface AgentFacts
  extends
    LimitFacts,
    PushFacts,
    Pick<
      AgentEntity,
      | 'organizationId'
      | 'status'
      | 'provider'
      | 'drain'
      | 'currentJobId'
      | 'dispatchedAt'
      | 'autopilotSessionId'
      | 'capabilities'
    >,
    Pick<OrganizationSettingsEntity, 'maxConcurrentRuns'> {
  agentId: AgentEntity['id'];
  clearing: boolean;
  /** Whether jobs in the agent's queue wait for concurrency keys. */
  keyed: boolean;
  /** Whether jobs in the agent's queue wait for accounts. */
  borrows: boolean;
  autoWake: OrganizationSettingsEntity['vmAutoWakeOnJob'];
}

export interface HeadJob
  extends
    StartFacts,
    Pick<
      JobEntity,
      | 'queuedAt'
      | 'workflowId'
      | 'workflowRevision'
      | 'variables'
      | 'vaultKeys'
      | 'concurrencyKeys'
      | 'accounts'
      | 'maxRuntimeMs'
      | 'lineage'
      | 'bundle'
      | 'scheduleId'
      | 'retryOf'
      | 'requestId'
    >,
    Pick<WorkflowRevisionEntity, 'script'> {
  /** Whether the job has no agent yet. */
  unplaced: boolean;
  /** How many agents fit a job that has none yet. */
  considered: number | null;
  workflowName: string;
  /** Steps of the job's workflow; null if the workflow has a script. */
  steps: Record<string, unknown>[] | null;
}

/**
 * Thrown if another transaction has locked the job that would start. That transaction may wait for the agent, so a
 * dispatch that holds the agent must not wait for it. The dispatch runs again and locks the job before the agent.
 */
export class NextJobLocked extends Error {
  constructor(readonly jobId: string) {
    super(`job ${jobId} is being changed; dispatch its agent again`);
  }
}

/**
 * Locks the agent and returns it. If the agent is free, also returns its next job: by priority, then by arrival, over
 * the jobs that name the agent and those that any agent with certain labels can take. A job that waits for its retry
 * delay does not block the others. The lock is a separate statement, so that the next statements read what the previous
 * holder of the lock committed.
 */
export async function lockAgentAndNextJob(
  tx: Transaction,
  agentId: string,
  now: Date,
): Promise<{ agent?: AgentFacts; head?: HeadJob }> {
  // Postgres may have no statistics yet about a new queue of 100,000 jobs, and would sort the queue. Without a sort,
  // the first job is read by the index. A shared transaction has this setting from its start.
  if (!tx.isShared) tx.avoidSorting();
  const [locked, agents, heads] = await tx.queryStatements([
    tx.isShared
      ? buildStatementForRow(lockIfFree, [agentId])
      : { name: 'lock_agent', text: lockAlone, values: [agentId] },
    buildStatementForRow(startFacts, [agentId, getBillingMonth(now)]),
    buildStatementForRow(firstInQueue, [agentId]),
  ]);
  if (locked!.length === 0) tx.requireOwnConnection();
  const agent = agents![0] as AgentFacts | undefined;
  const head = heads![0] as (HeadJob & { nextId: string; nextUnplaced: boolean }) | undefined;
  if (head && head.id === null) {
    tx.requireOwnConnection({ isUnchanged: true });
    // Another agent is probably starting the first job without an agent, so this agent takes the next one.
    const unlocked = head.nextUnplaced ? await tx.queryRow<HeadJob>(firstUnlocked, [agentId]) : [];
    if (!unlocked[0]) throw new NextJobLocked(head.nextId);
    return { agent, head: unlocked[0] };
  }
  // Another agent of the same shared transaction starts the job. The locks of the transaction do not exclude this agent,
  // so it takes a later job in a transaction of its own.
  if (head?.unplaced && tx.countEarlierClaims(head.id) > 0) tx.requireOwnConnection({ isUnchanged: true });
  return { agent, head };
}

const lockAlone = 'SELECT id FROM agent WHERE id = $1 FOR UPDATE';
/** A shared transaction skips an agent that another transaction has locked, so that the other agents do not wait. */
const lockIfFree = buildRowStatements(
  'lock_agent_if_free',
  { agent_id: 'uuid' },
  (rows) =>
    `SELECT input.member FROM ${rows} CROSS JOIN LATERAL (SELECT FROM agent WHERE id = input.agent_id FOR UPDATE SKIP LOCKED) a`,
);

const startFacts = buildRowStatements(
  'start_facts',
  { agent_id: 'uuid', month: 'date' },
  (rows) => `
  SELECT input.member, a.organization_id, a.id AS agent_id, a.status, a.provider, a.drain,
         a.current_job_id, a.dispatched_at, a.autopilot_session_id, a.capabilities,
         (SELECT c.id FROM agent_command c WHERE c.id = a.clearing_command_id) IS NOT NULL AS clearing,
         (SELECT l.agent_id FROM concurrency_lease l WHERE l.agent_id = a.id AND l.since IS NULL LIMIT 1) IS NOT NULL AS keyed,
         (SELECT u.agent_id FROM account_use u WHERE u.agent_id = a.id AND u.since IS NULL LIMIT 1) IS NOT NULL AS borrows,
         s.vm_auto_wake_on_job AS auto_wake, s.max_concurrent_runs, ${pushColumns}, ${spendingLimitColumnsSql('input.month')}
  FROM ${rows} JOIN agent a ON a.id = input.agent_id JOIN organization o ON o.id = a.organization_id
  JOIN organization_settings s ON s.organization_id = o.id
  LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = input.month`,
);

/** Number of jobs of each set of labels that a start tries if other transactions have locked the first ones. */
const maxLockedJobs = 16;

/**
 * SQL for the first jobs that the agent could start: that of its own queue, and those without an agent whose target
 * fits the agent. A job without an agent is considered only if the agent can start it now; another agent may take it
 * sooner otherwise.
 */
const candidateJobsSql = (perGroup: number) => `(
    (SELECT j.id, j.priority, j.queued_at, false AS unplaced FROM job j
     WHERE j.agent_id = input.agent_id AND ${isStartableSql}
       AND (SELECT current_job_id FROM agent WHERE id = input.agent_id) IS NULL
     ORDER BY j.priority DESC, j.queued_at, j.id LIMIT 1)
    UNION ALL
    (SELECT heads.id, heads.priority, heads.queued_at, true AS unplaced
     FROM agent a CROSS JOIN LATERAL ${waitingTargetGroupsSql('a.organization_id')} g
     CROSS JOIN LATERAL ${firstJobsOfGroupSql('a.organization_id', 'g.target_group', perGroup)} heads
     WHERE a.id = input.agent_id AND ${isIdleAgentSql('a')} AND a.labels @> g.target_labels))`;

const headColumns = `j.id, j.agent_id IS NULL AS unplaced, j.queued_at,
           CASE WHEN j.agent_id IS NULL THEN (
             SELECT count(*)::int FROM agent f WHERE ${agentHasLabelsSql('f', 'j.organization_id', 'j.target_labels')}) END AS considered,
           j.workflow_id, j.workflow_revision, r.script, j.variables,
           CASE WHEN r.script !~ '\\S' THEN r.steps END AS steps,
           (SELECT name FROM workflow w WHERE w.id = j.workflow_id) AS workflow_name,
           j.vault_keys, j.concurrency_keys, j.accounts, j.max_runtime_ms, j.lineage, j.bundle, j.schedule_id, j.retry_of, j.request_id, j.traceparent,
           j.waiting_reason,
           extract(epoch FROM muster_clock() - GREATEST(j.queued_at, j.not_before))::float8 AS waited_seconds`;
const headSource =
  'job j JOIN workflow_revision r ON r.workflow_id = j.workflow_id AND r.revision = j.workflow_revision';

/**
 * Reads the next job and locks it. If another transaction has locked it, the row has no column except `next_id` and
 * `next_unplaced`. Two agents of a shared transaction may get the same job without an agent.
 */
const firstInQueue = buildRowStatements(
  'first_in_queue',
  { agent_id: 'uuid' },
  (rows) => `
  SELECT input.member, next.id AS next_id, next.unplaced AS next_unplaced, head.*
  FROM ${rows} CROSS JOIN LATERAL (
    SELECT c.id, c.unplaced FROM ${candidateJobsSql(1)} c ORDER BY ${startOrderSql} LIMIT 1) next
  LEFT JOIN LATERAL (
    SELECT ${headColumns}
    FROM ${headSource}
    WHERE j.id = next.id AND ${isNextSql}
    FOR UPDATE OF j SKIP LOCKED) head ON true`,
);

/** Reads the first of the next jobs that no other transaction has locked, and locks it. */
const firstUnlocked = buildRowStatements(
  'first_unlocked',
  { agent_id: 'uuid' },
  (rows) => `
  SELECT input.member, head.*
  FROM ${rows} CROSS JOIN LATERAL (
    SELECT c.id FROM ${candidateJobsSql(maxLockedJobs)} c ORDER BY ${startOrderSql}) next
  CROSS JOIN LATERAL (
    SELECT ${headColumns}
    FROM ${headSource}
    WHERE j.id = next.id AND ${isNextSql}
    FOR UPDATE OF j SKIP LOCKED) head
  LIMIT 1`,
);
