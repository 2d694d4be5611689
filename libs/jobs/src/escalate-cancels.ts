import { appendTimeline, moveAgent } from '@muster/agents';
import type { AgentProvider, AgentStatus, JobStatus } from '@muster/contracts';
import { Database } from '@muster/database';
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

/** Goes on with cancels whose time is up: select, lock each, look again, decide, act. */
export async function escalateCancels(database: Database, now: Date): Promise<Record<string, number>> {
  const candidates = await database.query<{ id: string }>(
    'system',
    `SELECT id FROM job WHERE cancel_requested_at IS NOT NULL AND status IN ('queued', 'running')
       AND cancel_requested_at < $1 ORDER BY cancel_requested_at LIMIT 100`,
    [new Date(now.getTime() - waitFor(1))],
  );
  const counts = { confirmed: 0, killed: 0, rebooted: 0 };
  for (const { id } of candidates) {
    await database.transaction('system', async (tx) => {
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
      if (!job || now.getTime() - Number(job.requestedAt) < waitFor(job.step)) return;
      const { organizationId, agentId, status } = job;
      const decision = decideCancelStep(job);
      if (decision.action === 'wait') return;
      if (decision.action === 'confirm') {
        await finishJob(tx, { organizationId, jobId: id, to: 'cancelled', source: 'watchdog', error: job.reason });
        counts.confirmed += 1;
        return;
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
        counts.killed += 1;
        return;
      }
      const from = ['online', 'offline', 'draining'] as const;
      await moveAgent(tx, {
        organizationId,
        agentId,
        from,
        to: 'rebooting',
        source: 'watchdog',
        reason: decision.reason,
      });
      await tx.ring({ queue: 'dispatch', name: 'control-agent', payload: { agentId } });
      counts.rebooted += 1;
    });
  }
  return counts;
}

function waitFor(step: number): number {
  return stopGraceMs + step * (stopDeadlineMs / 2);
}
