import { type PushFacts, pushColumns } from '@muster/commands';
import type {
  AgentEntity,
  JobEntity,
  OrganizationSettingsEntity,
  Transaction,
  WorkflowRevisionEntity,
} from '@muster/database';
import { limitColumns, type LimitFacts, monthOf } from '@muster/pricing';
import { waitsForKeySql } from './concurrency-keys';
import type { StartFacts } from './start-span';

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
  /** Whether jobs of its queue wait for concurrency keys. */
  keyed: boolean;
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
 * Locks the agent, and returns it with the next job if it is free: by priority, then by arrival. A job that waits for
 * its retry delay does not block the others. The lock is a separate statement, so that the next statements read what
 * its last holder committed.
 */
export async function lockAgent(
  tx: Transaction,
  agentId: string,
  now: Date,
): Promise<{ agent?: AgentFacts; head?: HeadJob }> {
  // The statistics of Postgres may miss a queue of 100,000 jobs. Without a sort, its first job is read by the index.
  tx.unsorted();
  const [locked, agents, heads] = await tx.queryAll([
    { name: tx.isShared ? 'lock_agent_if_free' : 'lock_agent', text: lockText(tx), values: [agentId] },
    { name: 'start_facts', text: startFacts, values: [agentId, monthOf(now)] },
    { name: 'first_in_queue', text: firstInQueue, values: [agentId] },
  ]);
  if (locked!.length === 0) tx.requireOwn();
  const head = heads![0] as (HeadJob & { nextId: string }) | undefined;
  if (head && head.id === null) {
    tx.requireOwn();
    throw new NextJobLocked(head.nextId);
  }
  return { agent: agents![0] as AgentFacts | undefined, head };
}

/** In a shared transaction, an agent that another transaction has locked must not hold up the other agents. */
function lockText({ isShared }: Transaction): string {
  return `SELECT id FROM agent WHERE id = $1 FOR UPDATE${isShared ? ' SKIP LOCKED' : ''}`;
}

const startFacts = `
  SELECT a.organization_id, a.id AS agent_id, a.status, a.provider, a.drain,
         a.current_job_id, a.dispatched_at, a.autopilot_session_id, a.capabilities,
         EXISTS (SELECT FROM agent_command c WHERE c.id = a.clearing_command_id) AS clearing,
         EXISTS (SELECT FROM concurrency_lease l WHERE l.agent_id = a.id AND l.since IS NULL) AS keyed,
         s.vm_auto_wake_on_job AS auto_wake, s.max_concurrent_runs, ${pushColumns}, ${limitColumns('$2')}
  FROM agent a JOIN organization o ON o.id = a.organization_id
  JOIN organization_settings s ON s.organization_id = o.id
  LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = $2
  WHERE a.id = $1`;

const isNext = `j.status = 'queued' AND j.command_id IS NULL AND j.cancel_requested_at IS NULL`;

/** Reads the next job and locks it. If another transaction has locked it, the row has no column except `next_id`. */
const firstInQueue = `
  WITH next AS (
    SELECT j.id FROM job j
    WHERE j.agent_id = $1 AND ${isNext} AND j.not_before <= muster_now()
      AND NOT EXISTS (SELECT FROM batch b WHERE b.id = j.batch_id AND b.cancel_requested_at IS NOT NULL)
      AND (SELECT current_job_id FROM agent WHERE id = $1) IS NULL
      AND NOT ${waitsForKeySql('j')}
    ORDER BY j.priority DESC, j.queued_at, j.id LIMIT 1)
  SELECT next.id AS next_id, head.* FROM next LEFT JOIN LATERAL (
    SELECT j.id, j.workflow_id, j.workflow_revision, r.script, j.variables,
           CASE WHEN r.script !~ '\\S' THEN r.steps END AS steps,
           (SELECT name FROM workflow w WHERE w.id = j.workflow_id) AS workflow_name,
           j.vault_keys, j.concurrency_keys, j.max_runtime_ms, j.lineage, j.bundle, j.schedule_id, j.retry_of, j.request_id, j.traceparent,
           j.waiting_reason,
           extract(epoch FROM muster_clock() - GREATEST(j.queued_at, j.not_before))::float8 AS waited_seconds
    FROM job j JOIN workflow_revision r ON r.workflow_id = j.workflow_id AND r.revision = j.workflow_revision
    WHERE j.id = next.id AND ${isNext}
    FOR UPDATE OF j SKIP LOCKED) head ON true`;
