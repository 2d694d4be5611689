import { audit, type Principal } from '@muster/access';
import type { Database } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import { runDueSchedules } from './run-due-schedules';
import type { TickReport } from './tick-report';

export interface ExecuteRequest {
  now: Date;
  dryRun: boolean;
  limit: number;
  scheduleId?: string;
  keyRing?: KeyRing;
}

/** Runs the due schedules of the caller's organization, or one schedule if it is due, on behalf of the caller. */
export async function executeSchedules(
  database: Database,
  caller: Principal,
  { now, dryRun, limit, scheduleId, keyRing }: ExecuteRequest,
): Promise<TickReport> {
  const { organizationId } = caller;
  const report = await runDueSchedules(database, {
    now,
    organizationId,
    scheduleId,
    limit,
    dryRun,
    actor: caller,
    budgetMs: 20_000,
    whenScanned: 'wait',
    keyRing,
  });
  if (!dryRun) {
    await database.transaction({ organizationId }, (tx) => {
      audit(tx, caller, {
        action: 'schedule.execute',
        target: { type: scheduleId ? 'schedule' : 'organization', id: scheduleId ?? organizationId },
        changes: { scanned: report.scanned, launched: report.launched.length },
      });
      return Promise.resolve();
    });
  }
  return report;
}
