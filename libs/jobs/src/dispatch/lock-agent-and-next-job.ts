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
import type { ChosenFor } from './decide-placement';
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

/** The first jobs that an agent could start. */
interface NextJobs {
  /** In the order of their start; as many as other agents of the same statement could take before this one. */
  nextIds: string[];
  /** The one of these jobs that the agent starts if all agents of the statement can take the same jobs. */
  nextId: string | null;
  nextUnplaced: boolean;
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
  { agentId, chosen }: { agentId: string; chosen?: ChosenFor },
  now: Date,
): Promise<{ agent?: AgentFacts; head?: HeadJob }> {
  const counted = [chosen?.jobId ?? null, chosen?.considered ?? null];
  // Postgres may have no statistics yet about a new queue of 100,000 jobs, and would sort the queue. Without a sort,
  // the first job is read by the index. A shared transaction has this setting from its start.
  if (!tx.isShared) tx.avoidSorting();
  const [locked, agents, heads] = await tx.queryStatements([
    tx.isShared
      ? buildStatementForRow(lockIfFree, [agentId])
      : { name: 'lock_agent', text: lockAlone, values: [agentId] },
    buildStatementForRow(startFacts, [agentId, getBillingMonth(now)]),
    buildStatementForRow(firstInQueue, [agentId, ...counted]),
  ]);
  if (locked!.length === 0) tx.requireOwnConnection();
  const agent = agents![0] as AgentFacts | undefined;
  const next = heads![0] as (HeadJob & NextJobs) | undefined;
  if (!next) return { agent };
  // The locks of a shared transaction do not exclude its own agents, so each of them takes the first job that no other
  // one has claimed. Without such a job, the start runs again and reads what this transaction has committed.
  const first = next.nextIds.find((id) => tx.countEarlierClaims(id) === 0);
  if (first === undefined) tx.requireOwnConnection({ isUnchanged: true });
  if (first !== next.nextId) {
    const [head] = await tx.queryRow<HeadJob>(lockHead, [first, ...counted]);
    if (!head) tx.requireOwnConnection({ isUnchanged: true });
    return { agent, head };
  }
  if (next.id !== null) return { agent, head: next };
  tx.requireOwnConnection({ isUnchanged: true });
  // Another agent is probably starting the first job without an agent, so this agent takes the next one.
  const [head] = next.nextUnplaced ? await tx.queryRow<HeadJob>(firstUnlocked, [agentId]) : [];
  if (!head) throw new NextJobLocked(first);
  return { agent, head };
}

/** Setting with the ids of the agents that the transaction has locked. */
const lockedAgents = `'muster.locked_agents'`;
const lockAlone = `
  SELECT set_config(${lockedAgents}, a.id::text, true) FROM (SELECT id FROM agent WHERE id = $1 FOR UPDATE) a`.trim();
/** A shared transaction skips an agent that another transaction has locked, so that the other agents do not wait. */
const lockIfFree = buildRowStatements('lock_agent_if_free', { agent_id: 'uuid' }, (rows) =>
  `
  SELECT set_config(${lockedAgents}, concat_ws(',', current_setting(${lockedAgents}, true), input.agent_id), true),
         input.member
  FROM ${rows} CROSS JOIN LATERAL (SELECT FROM agent WHERE id = input.agent_id FOR UPDATE SKIP LOCKED) a`.trim(),
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
const candidateJobsSql = (perGroup: number | string) => `(
    (SELECT j.id, j.priority, j.queued_at, false AS unplaced FROM job j
     WHERE j.agent_id = input.agent_id AND ${isStartableSql}
       AND (SELECT current_job_id FROM agent WHERE id = input.agent_id) IS NULL
     ORDER BY j.priority DESC, j.queued_at, j.id LIMIT 1)
    UNION ALL
    (SELECT heads.id, heads.priority, heads.queued_at, true AS unplaced
     FROM agent a CROSS JOIN LATERAL ${waitingTargetGroupsSql('a.organization_id')} g
     CROSS JOIN LATERAL ${firstJobsOfGroupSql('a.organization_id', 'g.target_group', perGroup)} heads
     WHERE a.id = input.agent_id AND ${isIdleAgentSql('a')} AND a.labels @> g.target_labels))`;

const headColumns = `j.id, j.agent_id IS NULL AS unplaced, j.queued_at, j.organization_id, j.target_group, j.workflow_id, j.workflow_revision, r.script, j.variables,
           CASE WHEN r.script !~ '\\S' THEN r.steps END AS steps,
           (SELECT name FROM workflow w WHERE w.id = j.workflow_id) AS workflow_name,
           j.vault_keys, j.concurrency_keys, j.accounts, j.max_runtime_ms, j.lineage, j.bundle, j.schedule_id, j.retry_of, j.request_id, j.traceparent,
           j.waiting_reason,
           extract(epoch FROM muster_clock() - GREATEST(j.queued_at, j.not_before))::float8 AS waited_seconds`;
/** SQL: the job of the row `next`, locked unless another transaction has locked it. */
const headSql = `(
    SELECT ${headColumns}
    FROM job j JOIN workflow_revision r ON r.workflow_id = j.workflow_id AND r.revision = j.workflow_revision
    WHERE j.id = next.id AND ${isNextSql}
    FOR UPDATE OF j SKIP LOCKED)`;

/** Parameters of a statement with `buildConsideredSql`: a job whose fitting agents were counted, and their number. */
const countedColumns = { counted_job_id: 'uuid', considered: 'int4' };

/**
 * SQL: CTEs that follow the CTE `next`, whose rows have the ids of jobs. How many agents fit these jobs is counted once
 * for each set of labels, because it takes longer than everything else if there are a thousand agents. The number is not
 * counted again if the placement of a job with these labels has counted it.
 */
const buildConsideredSql = (rows: string) => `target AS MATERIALIZED (
    SELECT DISTINCT j.organization_id, j.target_group, j.target_labels FROM next JOIN job j ON j.id = next.id
    WHERE j.agent_id IS NULL AND j.target_labels IS NOT NULL),
  fitting AS MATERIALIZED (
    SELECT t.organization_id, t.target_group, COALESCE(
      (SELECT input.considered FROM ${rows} JOIN job j ON j.id = input.counted_job_id
       WHERE j.organization_id = t.organization_id AND j.target_group = t.target_group LIMIT 1),
      (SELECT count(*)::int FROM agent f
       WHERE ${agentHasLabelsSql('f', 't.organization_id', 't.target_labels')})) AS considered
    FROM target t)`;
const joinConsideredSql = `LEFT JOIN fitting ON head.unplaced AND fitting.organization_id = head.organization_id
    AND fitting.target_group = head.target_group`;

/**
 * Reads the next job of an agent that this transaction has locked, and locks the job. A job of another agent stays
 * unlocked, because the transaction that has locked that agent would skip the job. If another transaction has locked the
 * job, the row has no columns except those of `NextJobs`.
 */
const firstInQueue = buildRowStatements(
  'first_in_queue',
  { agent_id: 'uuid', ...countedColumns },
  (rows) => `
  WITH queue AS MATERIALIZED (
    SELECT input.member, first.ids, first.unplaced FROM ${rows} CROSS JOIN LATERAL (
      SELECT array_agg(c.id) AS ids, array_agg(c.unplaced) AS unplaced
      FROM (SELECT c.id, c.unplaced FROM ${candidateJobsSql('input.member')} c
            ORDER BY ${startOrderSql} LIMIT input.member) c) first
    WHERE input.agent_id::text = ANY(string_to_array(current_setting(${lockedAgents}, true), ','))
      AND first.ids IS NOT NULL),
  next AS MATERIALIZED (
    SELECT q.member, q.ids, q.ids[place.number] AS id, q.unplaced[place.number] AS unplaced
    FROM queue q CROSS JOIN LATERAL (
      SELECT count(*) AS number FROM queue o WHERE o.ids[1] = q.ids[1] AND o.member <= q.member) place),
  ${buildConsideredSql(rows)}
  SELECT next.member, next.ids AS next_ids, next.id AS next_id, next.unplaced AS next_unplaced, head.*, fitting.considered
  FROM next LEFT JOIN LATERAL ${headSql} head ON true ${joinConsideredSql}`,
);

/** Reads a job that can start and locks it. Returns no row if another transaction has locked it. */
const lockHead = buildRowStatements(
  'lock_head',
  { job_id: 'uuid', ...countedColumns },
  (rows) => `
  WITH next AS MATERIALIZED (SELECT input.member, input.job_id AS id FROM ${rows}),
  ${buildConsideredSql(rows)}
  SELECT next.member, head.*, fitting.considered
  FROM next CROSS JOIN LATERAL ${headSql} head ${joinConsideredSql}`,
);

/** Reads the first of the next jobs that no other transaction has locked, and locks it. */
const firstUnlocked = buildRowStatements(
  'first_unlocked',
  { agent_id: 'uuid' },
  (rows) => `
  SELECT input.member, head.*, (
    SELECT count(*)::int FROM agent f JOIN job j ON j.id = head.id AND j.agent_id IS NULL
    WHERE ${agentHasLabelsSql('f', 'j.organization_id', 'j.target_labels')}) AS considered
  FROM ${rows} CROSS JOIN LATERAL (
    SELECT c.id FROM ${candidateJobsSql(maxLockedJobs)} c ORDER BY ${startOrderSql}) next
  CROSS JOIN LATERAL ${headSql} head
  LIMIT 1`,
);
