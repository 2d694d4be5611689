import { statusListSql, isOffStatus, setAgentStatus, offStatuses, onStatuses } from '@muster/machines';
import { appendTimeline } from '@muster/timeline';
import type { AgentEntity, Database, JobEntity, PlacedJob, Transaction } from '@muster/database';
import { firstCursor, Round, sweepRows, type SweepCounts, type TimedCursor } from '@muster/platform';
import { issueStopCommand, stopDeadlineMs, stopGraceMs } from './cancel-job';
import { finishJob } from './finish-job';
import { buildJobEntry } from '../launch/insert-job';

export interface CancelFacts extends Pick<AgentEntity, 'provider'> {
  /** Escalation step: 1 the stop was requested, 2 the kill was requested, 3 the machine is being rebooted. */
  step: JobEntity['cancelStep'];
  agentStatus: AgentEntity['status'];
  /**
   * Whether a handshake after the cancel request set the agent's current status. Then the machine has booted since the
   * request, and no process of the job is running.
   */
  rebooted: boolean;
}

export type CancelStep = { action: 'confirm' | 'kill' | 'reboot' | 'wait'; reason: string };

/** Decides the next step of a cancel that its agent did not confirm in time: SIGKILL after SIGTERM, then a reboot. */
export function decideNextCancelStep({ step, provider, agentStatus, rebooted }: CancelFacts): CancelStep {
  if (isOffStatus(agentStatus)) {
    return { action: 'confirm', reason: `the machine is ${agentStatus}, so nothing is running on it` };
  }
  if (step >= 3 && rebooted) return { action: 'confirm', reason: 'the machine has rebooted' };
  if (step === 1) return { action: 'kill', reason: 'the agent did not confirm the stop' };
  if (step === 2 && provider !== 'external') return { action: 'reboot', reason: 'the agent did not confirm the kill' };
  return { action: 'wait', reason: `the agent is ${agentStatus}` };
}

interface Due extends CancelFacts, Pick<PlacedJob, 'id' | 'organizationId' | 'agentId' | 'status'> {
  reason: JobEntity['cancelReason'];
}

/** Escalates the cancels that were not confirmed in time. */
export function escalateCancels(
  database: Database,
  now: Date,
  round = new Round('escalate cancels'),
): Promise<SweepCounts<CancelOutcome>> {
  return sweepRows<TimedCursor, CancelOutcome>(round, {
    name: 'cancels',
    outcomes: ['confirmed', 'killed', 'rebooted'],
    candidates: (after, limit) => findUnconfirmedCancels(database, { after, limit, now }),
    settle: ({ id }) => database.transaction('system', (tx) => escalateCancel(tx, id, now)),
    rowOf: ({ id }) => `job ${id}`,
  });
}

type CancelOutcome = 'confirmed' | 'killed' | 'rebooted';

/**
 * Selects the next jobs with an unconfirmed cancel. Cancels that can only wait are left out, because a page full of
 * them would hide the others.
 */
function findUnconfirmedCancels(
  database: Database,
  { after, limit, now }: { after: TimedCursor | null; limit: number; now: Date },
): Promise<TimedCursor[]> {
  const { at, id } = after ?? firstCursor;
  return database.query<TimedCursor & object>(
    'system',
    `SELECT j.id, j.cancel_requested_at::text AS at FROM job j JOIN agent a ON a.id = j.agent_id
     WHERE j.cancel_requested_at IS NOT NULL AND j.status IN ('queued', 'running')
       AND (j.cancel_requested_at, j.id) > ($1::timestamptz, $2::uuid)
       AND j.cancel_requested_at <= $3::timestamptz - ($4 + j.cancel_step * $5) * interval '1 millisecond'
       AND (j.cancel_step < 2 OR (j.cancel_step = 2 AND a.provider <> 'external')
            OR a.status IN ${statusListSql([...offStatuses, ...onStatuses])})
     ORDER BY j.cancel_requested_at, j.id LIMIT $6`,
    [at, id, now, stopGraceMs, stopDeadlineMs / 2, limit],
  );
}

async function escalateCancel(tx: Transaction, id: string, now: Date): Promise<CancelOutcome | null> {
  const [job] = await tx.query<Due & { requestedAt: NonNullable<JobEntity['cancelRequestedAt']> }>(
    `SELECT j.id, j.organization_id, j.agent_id, j.status, j.cancel_step AS step, j.cancel_reason AS reason,
            j.cancel_requested_at AS requested_at, a.provider,
            a.status AS agent_status,
            a.status_source = 'handshake' AND a.status_since > j.cancel_requested_at AS rebooted
     FROM job j JOIN agent a ON a.id = j.agent_id
     WHERE j.id = $1 AND j.cancel_requested_at IS NOT NULL AND j.status IN ('queued', 'running')
     FOR UPDATE OF j SKIP LOCKED`,
    [id],
  );
  if (!job || now.getTime() - Number(job.requestedAt) < getWaitBeforeCancelStepMs(job.step)) return null;
  const { organizationId, agentId, status } = job;
  const decision = decideNextCancelStep(job);
  if (decision.action === 'wait') return null;
  if (decision.action === 'confirm') {
    await finishJob(tx, { organizationId, jobId: id, to: 'cancelled', source: 'watchdog', error: job.reason });
    return 'confirmed';
  }
  await tx.execute('UPDATE job SET cancel_step = cancel_step + 1 WHERE id = $1', [id]);
  appendTimeline(tx, { organizationId, agentId }, [
    buildJobEntry({
      jobId: id,
      status,
      previousStatus: status,
      source: 'watchdog',
      level: 'warn',
      message: `${decision.reason}: ${decision.action}`,
      data: { cancelling: true },
    }),
  ]);
  if (decision.action === 'kill') {
    await issueStopCommand(tx, {
      organizationId,
      agentId,
      jobId: id,
      reason: job.reason ?? undefined,
      graceMs: 0,
      now,
    });
    return 'killed';
  }
  const { reason } = decision;
  await setAgentStatus(tx, {
    organizationId,
    agentId,
    move: 'recovery_reboot',
    to: 'rebooting',
    source: 'watchdog',
    reason,
  });
  await tx.enqueue({ queue: 'dispatch', name: 'control-agent', payload: { agentId } });
  return 'rebooted';
}

function getWaitBeforeCancelStepMs(step: number): number {
  return stopGraceMs + step * (stopDeadlineMs / 2);
}
