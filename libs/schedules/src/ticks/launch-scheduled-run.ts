import type { Actor } from '@muster/access';
import { recordWakeBlocked } from '@muster/machines';
import { AppError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { launchJob, presentTarget } from '@muster/jobs';
import type { KeyRing } from '@muster/vault';
import { decideScheduledRun } from './decide-tick';
import { readScheduleGuardFacts } from './guard-facts';
import type { ScheduleRow } from '../schedule-row';
import type { Outcome } from './tick-report';
import { wakeForForcedRun } from './wake-for-forced-run';

export interface RunRequest {
  now: Date;
  nominalAt: Date;
  /** Actor of the launch in the audit trail. */
  actor: Actor;
  /** Present if a user requested this run; `wakeTimeoutMs` is how long its agent may take to wake. */
  force?: { wakeTimeoutMs: number };
  keyRing?: KeyRing;
}

/**
 * Checks the guards and, if they allow it, launches one run of a schedule. Does not write to the schedule or its
 * history.
 */
export async function launchScheduledRun(
  tx: Transaction,
  schedule: ScheduleRow,
  { now, nominalAt, actor, force, keyRing }: RunRequest,
): Promise<Outcome> {
  const { organizationId, agentId, targetLabels, targetPrefer } = schedule;
  const decision = decideScheduledRun(
    await readScheduleGuardFacts(tx, schedule, { now, force: force !== undefined }),
    now,
  );
  if (!decision.launch) {
    const { reason, detail } = decision;
    if (decision.wakeBlocked && agentId) {
      await recordWakeBlocked(tx, { organizationId, agentId, source: 'schedule', reason: detail });
    }
    return { outcome: 'skipped', reason, detail, nominalAt };
  }
  try {
    // The wake is requested before the job is launched: a transaction must lock an agent before its timeline.
    if (decision.wake && force) await wakeForForcedRun(tx, schedule, { now, timeoutMs: force.wakeTimeoutMs });
    const { jobId } = await launchJob(
      tx,
      actor,
      {
        workflowId: schedule.scriptId,
        ...(agentId ? { agentId } : { target: presentTarget({ targetLabels, targetPrefer }) ?? undefined }),
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
      keyRing,
    );
    return { outcome: 'launched', jobId, nominalAt };
  } catch (error) {
    // After an AppError of `launchJob`, the transaction can continue, because `launchJob` throws it before it writes
    // anything.
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'no_agent_fits') {
      return { outcome: 'skipped', reason: 'no_agent_fits', detail: error.message, nominalAt };
    }
    if (error.code === 'billing_gate_closed') {
      return { outcome: 'skipped', reason: 'billing_gate', detail: error.message, nominalAt };
    }
    return { outcome: 'failed', reason: error.code, detail: error.message, nominalAt };
  }
}
