import { appendTimeline, moveAgent } from '@muster/agents';
import type { AgentProvider, AgentStatus, JobStatus } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import { Logger } from '@nestjs/common';
import { issueStop, stopDeadlineMs, stopGraceMs } from './cancel-job';
import { finishJob } from './finish-job';
import { jobEntry } from './insert-job';

export interface CancelFacts {
  /** How far it has gone: 1 told to stop, 2 told to kill, 3 the machine is being rebooted. */
  step: number;
  provider: AgentProvider;
  agentStatus: AgentStatus;
  /** A boot that began after the cancel was asked for has nothing of the job. */
  rebooted: boolean;
}

export type CancelStep = { action: 'confirm' | 'kill' | 'reboot' | 'wait'; reason: string };

/** What becomes of a cancel that its agent does not confirm: TERM, KILL, reboot, each after its time. */
export function decideCancelStep({ step, provider, agentStatus, rebooted }: CancelFacts): CancelStep {
  if (['stopped', 'terminated'].includes(agentStatus)) {
    return { action: 'confirm', reason: `the machine is ${agentStatus}: nothing runs on it` };
  }
  if (step >= 3 && rebooted) return { action: 'confirm', reason: 'the machine has booted anew' };
  if (step === 1) return { action: 'kill', reason: 'the agent did not confirm the stop' };
  if (step === 2 && provider !== 'external') return { action: 'reboot', reason: 'the agent did not confirm the kill' };
  return { action: 'wait', reason: `the agent is ${agentStatus}` };
}

interface Due extends CancelFacts {
  id: string;
  organizationId: string;
  agentId: string;
  status: JobStatus;
  reason: string | null;
}

const atOnce = 100;
const budgetMs = 10_000;
const logger = new Logger('escalate cancels');

/** Goes on with cancels whose time is up: select, lock each, look again, decide, act. One that fails stops no other. */
export async function escalateCancels(database: Database, now: Date): Promise<Record<string, number>> {
  const counts = { confirmed: 0, killed: 0, rebooted: 0, errors: 0 };
  const until = performance.now() + budgetMs;
  let after: Candidate = { at: new Date(0), id: '00000000-0000-0000-0000-000000000000' };
  for (;;) {
    const candidates = await candidatesAfter(database, after, now);
    for (const { id } of candidates) {
      try {
        const done = await database.transaction('system', (tx) => escalate(tx, id, now));
        if (done) counts[done] += 1;
      } catch (error) {
        counts.errors += 1;
        logger.warn(`job ${id}: ${(error as Error).message}`);
      }
    }
    if (candidates.length < atOnce || performance.now() > until) return counts;
    after = candidates.at(-1)!;
  }
}

interface Candidate {
  id: string;
  at: Date;
}

/** Those for which nothing is left but to wait are not among them, or a hundred of them would hide the others. */
function candidatesAfter(database: Database, after: Candidate, now: Date): Promise<Candidate[]> {
  return database.query<Candidate & object>(
    'system',
    // A cursor that passes through JavaScript has milliseconds, and a batch is cancelled in one microsecond.
    `SELECT j.id, date_trunc('milliseconds', j.cancel_requested_at) AS at FROM job j JOIN agent a ON a.id = j.agent_id
     WHERE j.cancel_requested_at IS NOT NULL AND j.status IN ('queued', 'running')
       AND (date_trunc('milliseconds', j.cancel_requested_at), j.id) > ($1, $2)
       AND j.cancel_requested_at <= $3::timestamptz - ($4 + j.cancel_step * $5) * interval '1 millisecond'
       AND (j.cancel_step < 2 OR (j.cancel_step = 2 AND a.provider <> 'external')
            OR a.status IN ('stopped', 'terminated', 'online'))
     ORDER BY at, j.id LIMIT $6`,
    [after.at, after.id, now, stopGraceMs, stopDeadlineMs / 2, atOnce],
  );
}

async function escalate(tx: Transaction, id: string, now: Date): Promise<'confirmed' | 'killed' | 'rebooted' | null> {
  const [job] = await tx.query<Due & { requestedAt: Date }>(
    `SELECT j.id, j.organization_id AS "organizationId", j.agent_id AS "agentId", j.status,
            j.cancel_step AS step, j.cancel_reason AS reason, j.cancel_requested_at AS "requestedAt", a.provider,
            a.status AS "agentStatus", a.status = 'online' AND a.status_since > j.cancel_requested_at
              AND a.status_source = 'handshake' AS rebooted
     FROM job j JOIN agent a ON a.id = j.agent_id
     WHERE j.id = $1 AND j.cancel_requested_at IS NOT NULL AND j.status IN ('queued', 'running')
     FOR UPDATE OF j SKIP LOCKED`,
    [id],
  );
  if (!job || now.getTime() - Number(job.requestedAt) < waitFor(job.step)) return null;
  const { organizationId, agentId, status } = job;
  const decision = decideCancelStep(job);
  if (decision.action === 'wait') return null;
  if (decision.action === 'confirm') {
    await finishJob(tx, { organizationId, jobId: id, to: 'cancelled', source: 'watchdog', error: job.reason });
    return 'confirmed';
  }
  await tx.execute('UPDATE job SET cancel_step = cancel_step + 1 WHERE id = $1', [id]);
  appendTimeline(tx, { organizationId, agentId }, [
    jobEntry({
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
    await issueStop(tx, { organizationId, agentId, jobId: id, reason: job.reason ?? undefined, graceMs: 0, now });
    return 'killed';
  }
  const from = ['online', 'offline', 'draining'] as const;
  const reason = decision.reason;
  await moveAgent(tx, { organizationId, agentId, from, to: 'rebooting', source: 'watchdog', reason });
  await tx.ring({ queue: 'dispatch', name: 'control-agent', payload: { agentId } });
  return 'rebooted';
}

function waitFor(step: number): number {
  return stopGraceMs + step * (stopDeadlineMs / 2);
}
