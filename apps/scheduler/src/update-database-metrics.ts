import { readMachineMetrics } from '@muster/machines';
import { microsToUsd } from '@muster/contracts';
import { countOverdueMessages, type Database } from '@muster/database';
import { readRunMetrics } from '@muster/jobs';
import type { Metrics } from '@muster/platform';
import { readSpendMetrics } from '@muster/pricing';

/** Messages that wait longer than this count as late: usually a message is published within about two seconds. */
const overdueSeconds = 60;

/**
 * Sets the Prometheus metrics that are computed from the database. Every replica of the scheduler reports the same
 * values, so queries must use the maximum.
 */
export async function updateDatabaseMetrics(database: Database, metrics: Metrics, now: Date): Promise<void> {
  const [machines, runs, money, overdue] = await Promise.all([
    readMachineMetrics(database),
    readRunMetrics(database),
    readSpendMetrics(database, now),
    countOverdueMessages(database, overdueSeconds),
  ]);
  for (const [status, count] of Object.entries(machines.byStatus)) metrics.machines.set({ status }, count);
  for (const [why, count] of Object.entries(machines.withoutWork)) metrics.machinesWithoutWork.set({ why }, count);
  for (const [reason, { count, ageSeconds }] of Object.entries(runs.waiting)) {
    metrics.runsWaiting.set({ reason }, count);
    metrics.runsWaitingAge.set({ reason }, ageSeconds);
  }
  metrics.runsUnplaced.set(runs.unplaced.count);
  metrics.runsUnplacedAge.set(runs.unplaced.ageSeconds);
  metrics.runsRunning.set(runs.running);
  for (const [why, count] of Object.entries(money.gatesClosed)) metrics.gatesClosed.set({ why }, count);
  for (const [outcome, count] of Object.entries(money.runs)) metrics.monthRuns.set({ outcome }, count);
  metrics.monthSpend.set(microsToUsd(money.spendMicros));
  metrics.monthRunSeconds.set(money.runMs / 1000);
  metrics.reservedSpend.set(microsToUsd(runs.reservedMicros));
  const unequal = {
    messages_unpublished: overdue,
    runs_unmetered: money.unmetered,
    machines_held: runs.heldMachines,
    reports_unapplied: runs.unapplied,
  };
  for (const [what, count] of Object.entries(unequal)) metrics.unequal.set({ what }, count);
}
