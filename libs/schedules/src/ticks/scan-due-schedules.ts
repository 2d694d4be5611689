import { type Database, acquireAdvisoryLock, type ScheduleEntity, tryAdvisoryLock } from '@muster/database';
import { nilId } from '@muster/platform';

/** A schedule that is due. */
export interface Due extends Pick<ScheduleEntity, 'id' | 'organizationId'> {
  nextRunAt: NonNullable<ScheduleEntity['nextRunAt']>;
}

export interface ScanRequest {
  now: Date;
  /** Only the schedules of this organization; all organizations if absent. */
  organizationId?: string;
  dryRun?: boolean;
  /** While another process scans: `wait` for it, or `leave` the scan to it and return nothing. */
  whenScanned: 'wait' | 'leave';
}

/**
 * Returns the schedules that have been due the longest, starting after the cursor `after`. One process scans at a time.
 */
export async function scanDueSchedules(
  database: Database,
  { organizationId, now, dryRun, whenScanned }: ScanRequest,
  { after, limit }: { after?: Due; limit: number },
): Promise<Due[]> {
  return database.transaction(organizationId ? { organizationId } : 'system', async (tx) => {
    if (!dryRun) {
      if (whenScanned === 'wait') await acquireAdvisoryLock(tx, 'schedules', 'scan');
      else if (!(await tryAdvisoryLock(tx, 'schedules', 'scan'))) return [];
    }
    return tx.query<Due>(
      scanDueSchedulesSql(organizationId !== undefined),
      [...getScanDueValues(now, limit, after), ...(organizationId ? [organizationId] : [])],
      organizationId ? 'scan_due_of_organization' : 'scan_due',
    );
  });
}

/** Returns the time in ms until the next schedule that is not due yet becomes due; null if there is none. */
export async function readNextDueDelayMs(database: Database, now: Date): Promise<number | null> {
  const [next] = await database.query<Pick<Due, 'nextRunAt'>>(
    'system',
    'SELECT next_run_at FROM schedule WHERE enabled AND next_run_at > $1 ORDER BY next_run_at LIMIT 1',
    [now],
    'next_due',
  );
  return next ? next.nextRunAt.getTime() - now.getTime() : null;
}

/**
 * Returns the SQL for a scan. It reads an index in its order, so the cost depends on the rows found and not on all
 * rows.
 */
export function scanDueSchedulesSql(ofOrganization: boolean): string {
  return `SELECT id, organization_id, next_run_at FROM schedule
    WHERE enabled AND next_run_at <= $1 AND (next_run_at, id) > ($2::timestamptz, $3::uuid)
      ${ofOrganization ? 'AND organization_id = $5' : ''}
    ORDER BY next_run_at, id LIMIT $4`;
}

export function getScanDueValues(now: Date, limit: number, after?: Due): unknown[] {
  return [now, after?.nextRunAt ?? '-infinity', after?.id ?? nilId, limit];
}
