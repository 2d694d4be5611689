import { AppError, type Roi, type RoiQuery } from '@muster/contracts';
import type { Database } from '@muster/database';
import { computeRoi, dayInTimezoneSql, type RoiSums } from './compute-roi';
import { readRollup, type RollupRead } from './read-rollup';
import { computeRoiFigures, type RoiSettings } from './roi-figures';
import { resolveRoiRange } from './roi-range';
import { refreshRoiRollups } from './refresh-roi-rollups';

/**
 * Returns the savings and costs of a range of days, from the rollups or from the claims. Both give the same figures.
 */
export async function readRoi(
  database: Database,
  organizationId: string,
  { query, now }: { query: RoiQuery; now: Date },
): Promise<Roi> {
  const [settings] = await database.query<RoiSettings & { today: string }>(
    { organizationId },
    `SELECT minutes_saved_per_claim, labor_micros_per_hour, ${dayInTimezoneSql('$2::timestamptz')}::text AS today
     FROM organization_settings s WHERE organization_id = $1`,
    [organizationId, now],
    'roi_settings',
  );
  if (!settings) throw new AppError('not_found', { detail: 'The organization no longer exists. Sign in again.' });
  const range = resolveRoiRange(query, settings.today);
  const read = { organizationId, range, workflowId: query.workflowId ?? null };
  const rollup = query.source === 'computed' ? null : await readRefreshedRollup(database, read);
  const sums = rollup ?? (await computeRoi(database, organizationId, range, read.workflowId));
  return computeRoiFigures({ range, source: rollup ? 'rollup' : 'computed', settings }, sums.days, sums.percentiles);
}

/** Reads the rollups, and refreshes them first if little has changed. Null if changes are still pending after that. */
async function readRefreshedRollup(database: Database, read: RollupRead): Promise<RoiSums | null> {
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const sums = await readRollup(database, read);
    if (sums) return sums;
    if ((await refreshRoiRollups(database, read.organizationId)).hasMore) return null;
  }
  return null;
}
