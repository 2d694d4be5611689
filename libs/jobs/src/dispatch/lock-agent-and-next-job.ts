import { type PushFacts, pushColumns } from '@muster/commands';
import {
  type AgentEntity,
  type JobEntity,
  type OrganizationSettingsEntity,
  bindRow,
  buildRowStatements,
  type Transaction,
  type WorkflowRevisionEntity,
} from '@muster/database';
import { limitColumnsSql, type LimitFacts, getBillingMonth } from '@muster/pricing';
import { waitsForAccountSql } from '../accounts/accounts-sql';
import { waitsForKeySql } from './concurrency-keys';
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
  workflowName: string;
  /** Null if the workflow has a script. */
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
 * Locks the agent and returns it. If the agent is free, also returns its next job: by priority, then by arrival. A job
 * that waits for its retry delay does not block the others. The lock is a separate statement, so that the next
 * statements read what the previous holder of the lock committed.
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
    tx.isShared ? bindRow(lockIfFree, [agentId]) : { name: 'lock_agent', text: lockAlone, values: [agentId] },
    bindRow(startFacts, [agentId, getBillingMonth(now)]),
    bindRow(firstInQueue, [agentId]),
  ]);
  if (locked!.length === 0) tx.requireOwnConnection();
  const head = heads![0] as (HeadJob & { nextId: string }) | undefined;
  if (head && head.id === null) {
    tx.requireOwnConnection();
    throw new NextJobLocked(head.nextId);
  }
  return { agent: agents![0] as AgentFacts | undefined, head };
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
         s.vm_auto_wake_on_job AS auto_wake, s.max_concurrent_runs, ${pushColumns}, ${limitColumnsSql('input.month')}
  FROM ${rows} JOIN agent a ON a.id = input.agent_id JOIN organization o ON o.id = a.organization_id
  JOIN organization_settings s ON s.organization_id = o.id
  LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = input.month`,
);

const isNext = `j.status = 'queued' AND j.command_id IS NULL AND j.cancel_requested_at IS NULL`;

/** Reads the next job and locks it. If another transaction has locked it, the row has no column except `next_id`. */
const firstInQueue = buildRowStatements(
  'first_in_queue',
  { agent_id: 'uuid' },
  (rows) => `
  SELECT input.member, next.id AS next_id, head.*
  FROM ${rows} CROSS JOIN LATERAL (
    SELECT j.id FROM job j
    WHERE j.agent_id = input.agent_id AND ${isNext} AND j.not_before <= muster_now()
      AND NOT EXISTS (SELECT FROM batch b WHERE b.id = j.batch_id AND b.cancel_requested_at IS NOT NULL)
      AND (SELECT current_job_id FROM agent WHERE id = input.agent_id) IS NULL
      AND NOT ${waitsForKeySql('j')} AND NOT ${waitsForAccountSql('j')}
    ORDER BY j.priority DESC, j.queued_at, j.id LIMIT 1) next
  LEFT JOIN LATERAL (
    SELECT j.id, j.workflow_id, j.workflow_revision, r.script, j.variables,
           CASE WHEN r.script !~ '\\S' THEN r.steps END AS steps,
           (SELECT name FROM workflow w WHERE w.id = j.workflow_id) AS workflow_name,
           j.vault_keys, j.concurrency_keys, j.accounts, j.max_runtime_ms, j.lineage, j.bundle, j.schedule_id, j.retry_of, j.request_id, j.traceparent,
           j.waiting_reason,
           extract(epoch FROM muster_clock() - GREATEST(j.queued_at, j.not_before))::float8 AS waited_seconds
    FROM job j JOIN workflow_revision r ON r.workflow_id = j.workflow_id AND r.revision = j.workflow_revision
    WHERE j.id = next.id AND ${isNext}
    FOR UPDATE OF j SKIP LOCKED) head ON true`,
);
