import { type AgentStatus, AppError, type LifecycleSource, agentNotFoundError } from '@muster/contracts';
import type { AgentEntity, AgentWakeEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { appendTimeline } from '@muster/timeline';
import { isOnStatus } from './agent-life';
import { longestLead, recordBootTime } from './boot-time';
import { emitWakeFailedEvent, buildLifecycleEntry, setAgentStatus } from './set-agent-status';

export interface WakeRequest {
  organizationId: string;
  agentId: string;
  source: LifecycleSource;
  reason: string;
  jobId?: string;
  /** Additional data for the timeline entry of the wake. */
  data?: Record<string, unknown>;
  timeoutMs: number;
}

/**
 * Joins the agent's open wake, or opens one: the agent becomes starting, and the event wake_requested and the message
 * wake-agent are written. A machine that is stopping or rebooting is woken when the stop or the reboot has ended. If
 * the agent is on, the new wake is ready at once.
 */
export async function requestWake(tx: Transaction, request: WakeRequest): Promise<{ wakeId: string; joined: boolean }> {
  const { organizationId, agentId, source, reason, jobId, data, timeoutMs } = request;
  const agent = await lockAgentForWake(tx, organizationId, agentId);
  if (agent.status === 'terminated') {
    throw new AppError('agent_not_ready', {
      detail: 'The agent is terminated. Use another agent.',
      extra: { agentStatus: agent.status },
    });
  }
  const [open] = await tx.query<Pick<AgentWakeEntity, 'id'>>(
    `SELECT id FROM agent_wake WHERE agent_id = $1 AND state = 'open'`,
    [agentId],
  );
  if (open) return { wakeId: open.id, joined: true };
  const isReady = isOnStatus(agent.status);
  const wakeId = newId();
  await tx.execute(
    `INSERT INTO agent_wake
       (id, organization_id, agent_id, source, reason, attempt, state, finished_at, deadline)
     VALUES ($1, $2, $3, $4, $5, 0, $6, CASE WHEN $6 = 'ready' THEN muster_now() END,
             muster_now() + $7 * interval '1 millisecond')`,
    [wakeId, organizationId, agentId, source, reason, isReady ? 'ready' : 'open', timeoutMs],
    'insert_wake',
  );
  if (isReady) return { wakeId, joined: false };
  const facts = { eventType: 'wake_requested', source, reason, data, ...(jobId ? { jobId } : {}) } as const;
  const moved = await setAgentStatus(tx, {
    organizationId,
    agentId,
    move: 'wake',
    to: 'starting',
    source,
    reason,
  });
  const previous = moved?.previous ?? agent.status;
  const current = moved ? 'starting' : agent.status;
  appendTimeline(tx, { organizationId, agentId }, [buildLifecycleEntry({ ...facts, previous, current })]);
  await tx.enqueue({ queue: 'dispatch', name: 'wake-agent', payload: { wakeId } });
  return { wakeId, joined: false };
}

/**
 * Records the event wake_blocked: the machine is not started because auto-wake is off. The event is recorded once for
 * each job, and at most every ten minutes for callers without a job.
 */
export async function recordWakeBlocked(tx: Transaction, request: Omit<WakeRequest, 'timeoutMs'>): Promise<void> {
  const { organizationId, agentId, source, reason, jobId } = request;
  const { status } = await lockAgentForWake(tx, organizationId, agentId);
  const recorded = jobId
    ? await tx.query(
        `SELECT FROM timeline_entry
         WHERE job_id = $1 AND kind = 'lifecycle' AND data->>'eventType' = 'wake_blocked' LIMIT 1`,
        [jobId],
      )
    : await tx.query(
        // eslint-disable-next-line muster/one-clock -- The database sets the times of timeline entries.
        `SELECT FROM timeline_entry
         WHERE agent_id = $1 AND recorded_at > now() - interval '10 minutes' AND kind = 'lifecycle'
           AND job_id IS NULL AND data->>'eventType' = 'wake_blocked' LIMIT 1`,
        [agentId],
      );
  if (recorded.length > 0) return;
  appendTimeline(tx, { organizationId, agentId }, [
    buildLifecycleEntry({
      eventType: 'wake_blocked',
      source,
      reason,
      previous: status,
      current: status,
      ...(jobId ? { jobId } : {}),
    }),
  ]);
}

/**
 * Marks the open wake as ready, if there is one, because the machine has reported, and records the event wake_ready.
 * The report may be from a new boot or from a boot that was only silent. Reports of a stopped boot were rejected
 * before.
 */
export async function completeWake(
  tx: Transaction,
  { organizationId, agentId }: { organizationId: string; agentId: string },
): Promise<void> {
  const wake = await endWake(tx, agentId, { state: 'ready' });
  if (!wake) return;
  recordBootTime(tx, agentId);
  await enqueueWorkOfReadyAgent(tx, {
    organizationId,
    agentId,
    reason: `it reported after ${wake.seconds.toFixed(1)} s`,
  });
}

/**
 * Cancels the open wake because the machine gets another order, and records the event wake_failed. Requests that wait
 * for the wake are notified.
 */
export async function cancelWake(
  tx: Transaction,
  { organizationId, agentId, reason }: { organizationId: string; agentId: string; reason: string },
): Promise<void> {
  if (!(await endWake(tx, agentId, { state: 'cancelled', error: reason }))) return;
  const { status } = await lockAgentForWake(tx, organizationId, agentId);
  recordFailedWake(tx, { organizationId, agentId, eventType: 'wake_failed', reason, status });
}

/** Records that a wake failed and that the agent's status does not change. */
export function recordFailedWake(
  tx: Transaction,
  failed: {
    organizationId: string;
    agentId: string;
    eventType: 'wake_failed' | 'wake_timeout';
    reason: string;
    status: AgentStatus;
  },
): void {
  const { organizationId, agentId, eventType, reason, status } = failed;
  appendTimeline(tx, { organizationId, agentId }, [
    buildLifecycleEntry({ eventType, source: 'provider', reason, previous: status, current: status }),
  ]);
  emitWakeFailedEvent(tx, { organizationId, agentId, status });
  tx.notify('agent', agentId);
}

/**
 * Ends the agent's open wake and returns the seconds since its request. Returns undefined if no wake is open, or if
 * the open wake is not `wakeId`.
 */
export async function endWake(
  tx: Transaction,
  agentId: string,
  end: { state: Exclude<AgentWakeEntity['state'], 'open'>; error?: string; wakeId?: string },
): Promise<{ seconds: number } | undefined> {
  const { state, error = null, wakeId = null } = end;
  const [wake] = await tx.query<{ seconds: number }>(
    `UPDATE agent_wake SET state = $2, error = $3, finished_at = muster_now()
     WHERE agent_id = $1 AND state = 'open' AND ($4::uuid IS NULL OR id = $4)
     RETURNING extract(epoch FROM muster_now() - requested_at)::float8 AS seconds`,
    [agentId, state, error, wakeId],
    'end_wake',
  );
  if (wake) tx.onCommitMeasure(({ wakes }) => wakes.inc({ outcome: state }));
  return wake;
}

/**
 * Marks the last wake as ready if its machine boots after the timeout, so that the boot time is measured. Otherwise a
 * machine that always boots more slowly than the timeout would never get a measured boot time and would always be woken
 * too late. A report that is later than the longest lead is not used.
 */
export async function completeLateWake(
  tx: Transaction,
  { organizationId, agentId }: { organizationId: string; agentId: string },
): Promise<void> {
  const late = await tx.execute(
    `UPDATE agent_wake SET state = 'ready', finished_at = muster_now(), error = NULL
     WHERE id = (SELECT id FROM agent_wake WHERE agent_id = $1 AND organization_id = $2
                 ORDER BY requested_at DESC LIMIT 1)
       AND state = 'timeout' AND attempt > 0 AND requested_at > muster_now() - ${longestLead}`,
    [agentId, organizationId],
    'complete_late_wake',
  );
  if (late > 0) recordBootTime(tx, agentId);
}

export async function enqueueWorkOfReadyAgent(
  tx: Transaction,
  { organizationId, agentId, reason }: { organizationId: string; agentId: string; reason: string },
): Promise<void> {
  appendTimeline(tx, { organizationId, agentId }, [
    buildLifecycleEntry({
      eventType: 'wake_ready',
      source: 'handshake',
      reason,
      previous: 'starting',
      current: 'online',
    }),
  ]);
  await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
  tx.notify('agent', agentId);
}

const firstBackoffMs = 60_000;
const maxBackoffMs = 30 * 60_000;

/** Returns the milliseconds before the next wake after this number of failed wakes in a row: 1, 2, 4 … 30 minutes. */
export function getWakeDelayMs(consecutiveFailures: number): number {
  if (consecutiveFailures <= 0) return 0;
  return Math.min(firstBackoffMs * 2 ** (consecutiveFailures - 1), maxBackoffMs);
}

export interface WakeFailures {
  /** Number of wakes that timed out or failed since the last successful wake. */
  consecutive: number;
  lastAt: Date | null;
  lastError: string | null;
}

export async function readLastWakeFailures(tx: Transaction, agentId: string): Promise<WakeFailures> {
  const rows = await tx.query<
    Pick<AgentWakeEntity, 'state' | 'error'> & { finishedAt: NonNullable<AgentWakeEntity['finishedAt']> }
  >(
    `SELECT state, finished_at, error FROM agent_wake
     WHERE agent_id = $1 AND state IN ('ready', 'timeout', 'failed') ORDER BY requested_at DESC LIMIT 10`,
    [agentId],
    'last_wakes',
  );
  const worked = rows.findIndex(({ state }) => state === 'ready');
  const failures = worked === -1 ? rows : rows.slice(0, worked);
  const [last] = failures;
  return { consecutive: failures.length, lastAt: last?.finishedAt ?? null, lastError: last?.error ?? null };
}

/** Locks the agent but lets other transactions insert jobs of the agent, like `lock_beside_launches` of `loadAgent`. */
async function lockAgentForWake(tx: Transaction, organizationId: string, agentId: string) {
  const [agent] = await tx.query<Pick<AgentEntity, 'status'>>(
    `SELECT status FROM agent WHERE id = $1 AND organization_id = $2 FOR NO KEY UPDATE`,
    [agentId, organizationId],
    'lock_agent_to_wake',
  );
  if (!agent) throw agentNotFoundError();
  return agent;
}
