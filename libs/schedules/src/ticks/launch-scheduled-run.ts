import type { Actor } from '@muster/access';
import { recordWakeBlocked, requestWake } from '@muster/machines';
import { AppError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { launchJob } from '@muster/jobs';
import { decideScheduledRun } from './decide-tick';
import { readGuardFacts } from './guard-facts';
import type { ScheduleRow } from '../schedule-row';
import type { Outcome } from './tick-report';

export interface RunRequest {
  now: Date;
  nominalAt: Date;
  /** Actor of the launch in the audit trail. */
  actor: Actor;
  /** Present if a user requested this run; `wakeTimeoutMs` is how long its agent may take to wake. */
  force?: { wakeTimeoutMs: number };
}

/**
 * Checks the guards and, if they allow it, launches one run of a schedule. Does not write to the schedule or its
 * history.
 */
export async function launchScheduledRun(
  tx: Transaction,
  schedule: ScheduleRow,
  { now, nominalAt, actor, force }: RunRequest,
): Promise<Outcome> {
  const { organizationId, agentId } = schedule;
  const decision = decideScheduledRun(await readGuardFacts(tx, schedule, { now, force: force !== undefined }), now);
  const wake = { organizationId, agentId, source: 'schedule' as const };
  if (!decision.launch) {
    const { reason, detail } = decision;
    if (decision.wakeBlocked) await recordWakeBlocked(tx, { ...wake, reason: detail });
    return { outcome: 'skipped', reason, detail, nominalAt };
  }
  try {
    // The wake is requested before the job is launched: a transaction must lock an agent before its timeline.
    if (decision.wake && force) {
      const reason = `a run of ${schedule.name} was requested`;
      await requestWake(tx, { ...wake, reason, timeoutMs: force.wakeTimeoutMs });
    }
    const { jobId } = await launchJob(
      tx,
      actor,
      {
        workflowId: schedule.scriptId,
        agentId,
        variables: schedule.variables,
        vaultKeys: schedule.vaultKeys,
        concurrencyKeys: schedule.concurrencyKeys,
        accounts: schedule.accounts,
        maxRuntimeMs: schedule.maxRuntimeMinutes * 60_000,
        maxRetries: schedule.maxRetries,
        retryDelayMs: schedule.retryDelaySeconds * 1000,
        scheduleId: schedule.id,
        maxCostMicros: schedule.maxCostMicros,
        workflowPackInstallationId: schedule.workflowPackInstallationId ?? undefined,
        source: 'schedule',
      },
      now,
    );
    return { outcome: 'launched', jobId, nominalAt };
  } catch (error) {
    // `launchJob` throws an AppError only before it writes anything.
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'billing_gate_closed') {
      return { outcome: 'skipped', reason: 'billing_gate', detail: error.message, nominalAt };
    }
    return { outcome: 'failed', reason: error.code, detail: error.message, nominalAt };
  }
}
