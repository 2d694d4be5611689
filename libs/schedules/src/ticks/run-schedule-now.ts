import { audit, type Principal } from '@muster/access';
import { type Database, type Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import { decideScheduledRun } from './decide-tick';
import { readScheduleGuardFacts } from './guard-facts';
import { launchScheduledRun } from './launch-scheduled-run';
import { findSchedule, requireExistingSchedule, tryLockSchedule } from '../schedule-row';
import { recordScheduledRunOutcome } from './tick-ledger';
import { createEmptyReport, addOutcomeToReport, type Outcome, type TickReport } from './tick-report';

/**
 * Runs a schedule once now, even if it is not due or is disabled, and wakes its agent. All other guards apply. The next
 * scheduled time does not change.
 */
export async function runScheduleNow(
  tx: Transaction,
  caller: Principal,
  id: string,
  { now, wakeTimeoutMs, keyRing }: { now: Date; wakeTimeoutMs: number; keyRing?: KeyRing },
): Promise<TickReport> {
  const { organizationId } = caller;
  const report: TickReport = { ...createEmptyReport(false), scanned: 1 };
  const schedule = await tryLockSchedule(tx, organizationId, id);
  if (!schedule) {
    await requireExistingSchedule(tx, organizationId, id);
    addOutcomeToReport(report, id, { outcome: 'skipped', reason: 'locked', detail: null, nominalAt: null });
  } else {
    const nominalAt = await findFreeNominalTime(tx, id, now);
    const force = { wakeTimeoutMs };
    const outcome = await launchScheduledRun(tx, schedule, { now, nominalAt, actor: caller, force, keyRing });
    recordScheduledRunOutcome(tx, schedule, { ...outcome, nominalAt }, { kind: 'forced', now });
    addOutcomeToReport(report, id, outcome);
  }
  audit(tx, caller, {
    action: 'schedule.execute',
    target: { type: 'schedule', id },
    changes: { force: true, launched: report.launched.length },
  });
  return report;
}

/** Returns what `runScheduleNow` would do. */
export async function previewForcedRun(
  database: Database,
  { organizationId }: Principal,
  id: string,
  now: Date,
): Promise<TickReport> {
  const report: TickReport = { ...createEmptyReport(true), scanned: 1 };
  const schedule = await findSchedule(database, organizationId, id);
  const facts = await database.transaction({ organizationId }, (tx) =>
    readScheduleGuardFacts(tx, schedule, { now, force: true }),
  );
  const decision = decideScheduledRun(facts, now);
  const outcome: Outcome = decision.launch
    ? { outcome: 'launched', jobId: null, nominalAt: now }
    : { outcome: 'skipped', reason: decision.reason, detail: decision.detail, nominalAt: now };
  addOutcomeToReport(report, id, outcome);
  return report;
}

/**
 * Returns the time that identifies a forced run: now, or a millisecond after the last forced run if that is not
 * earlier.
 */
async function findFreeNominalTime(tx: Transaction, id: string, now: Date): Promise<Date> {
  const [row] = await tx.query<{ last: Date | null }>(
    `SELECT max(nominal_at) AS last FROM schedule_run WHERE schedule_id = $1 AND kind = 'forced' AND nominal_at >= $2`,
    [id, now],
  );
  return row?.last ? new Date(row.last.getTime() + 1) : now;
}
