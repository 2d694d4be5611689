import {
  type Database,
  acquireAdvisoryLock,
  type OrganizationSettingsEntity,
  type PilotRoiStateEntity,
  type Transaction,
} from '@muster/database';
import { batchDayInRangeSql, dayInTimezoneSql, waitingMicrosSql } from './compute-roi';
import { type BatchOfDay, everyWorkflow, summarizeDay } from './summarize-day';

/** Maximum number of changed days and jobs per transaction, so that it does not block other transactions for long. */
const changeBatchSize = 32;

/**
 * Recomputes the days whose batches or job costs have changed, the oldest changes first. The same transaction deletes
 * the change rows. `hasMore`: whether changes are left.
 */
export async function refreshRoiRollups(
  database: Database,
  organizationId: string,
): Promise<{ days: number; hasMore: boolean }> {
  return database.transaction({ organizationId }, async (tx) => {
    await acquireAdvisoryLock(tx, 'pilot_roi', organizationId);
    const zone = await readTimezoneAndReset(tx, organizationId);
    const days = await claimChangedDays(tx, organizationId, zone);
    if (days.length > 0) await recomputeRollupDays(tx, organizationId, days);
    const [left] = await tx.query<{ hasMore: boolean }>(
      'SELECT EXISTS (SELECT FROM pilot_roi_change WHERE organization_id = $1) AS has_more',
      [organizationId],
      'roi_rest',
    );
    return { days: days.length, hasMore: left!.hasMore };
  });
}

/** Returns the organization's time zone. Resets the rollups if they do not exist or have days of another time zone. */
async function readTimezoneAndReset(tx: Transaction, organizationId: string): Promise<string> {
  const [row] = await tx.query<
    Pick<OrganizationSettingsEntity, 'timezone'> & { rolledUp: PilotRoiStateEntity['timezone'] | null }
  >(
    `SELECT s.timezone, r.timezone AS rolled_up
     FROM organization_settings s LEFT JOIN pilot_roi_state r ON r.organization_id = s.organization_id
     WHERE s.organization_id = $1`,
    [organizationId],
    'roi_zone',
  );
  const { timezone, rolledUp } = row!;
  if (timezone !== rolledUp) await resetRoiRollups(tx, organizationId, timezone);
  return timezone;
}

/** Deletes an organization's rollups and marks all of its days as changed. */
export async function resetRoiRollups(tx: Transaction, organizationId: string, timezone: string): Promise<void> {
  await tx.execute('DELETE FROM pilot_roi_change WHERE organization_id = $1', [organizationId]);
  await tx.execute('DELETE FROM pilot_roi_times WHERE organization_id = $1', [organizationId]);
  await tx.execute('DELETE FROM pilot_roi_cost WHERE organization_id = $1', [organizationId]);
  await tx.execute('DELETE FROM pilot_roi_day WHERE organization_id = $1', [organizationId]);
  await tx.execute(
    `INSERT INTO pilot_roi_change (organization_id, occurred_at)
     SELECT $1, min(occurred_at) FROM pilot_batch WHERE organization_id = $1 GROUP BY ${dayInTimezoneSql('occurred_at', '$2')}`,
    [organizationId, timezone],
  );
  await tx.execute(
    `INSERT INTO pilot_roi_state AS r (organization_id, timezone) VALUES ($1, $2)
     ON CONFLICT (organization_id) DO UPDATE SET timezone = excluded.timezone, revision = r.revision + 1`,
    [organizationId, timezone],
  );
}

/**
 * Deletes a page of changes and returns the days to recompute. A changed batch affects its day and the next day of its
 * job, whose `day_before` changes. A changed job cost affects all days of the job.
 */
async function claimChangedDays(tx: Transaction, organizationId: string, zone: string): Promise<string[]> {
  const rows = await tx.query<{ day: string }>(
    `WITH change AS MATERIALIZED (
       SELECT id, job_id, ${dayInTimezoneSql('occurred_at', '$2')} AS day FROM pilot_roi_change WHERE organization_id = $1),
     selected_keys AS MATERIALIZED (
       SELECT day, CASE WHEN day IS NULL THEN job_id END AS job_id FROM change
       GROUP BY 1, 2 ORDER BY min(id) LIMIT $3),
     selected_changes AS MATERIALIZED (
       SELECT change.* FROM change JOIN selected_keys ON selected_keys.day IS NOT DISTINCT FROM change.day
         AND (change.day IS NOT NULL OR selected_keys.job_id = change.job_id)),
     delete_changes AS (
       DELETE FROM pilot_roi_change c USING selected_changes WHERE c.id = selected_changes.id)
     SELECT day::text AS day FROM selected_changes WHERE day IS NOT NULL
     UNION
     SELECT ${dayInTimezoneSql('b.occurred_at', '$2')}::text
     FROM selected_changes JOIN pilot_batch b ON b.named_job_id = selected_changes.job_id
     WHERE selected_changes.day IS NULL AND b.organization_id = $1
     UNION
     SELECT (
       SELECT min(${dayInTimezoneSql('b.occurred_at', '$2')}) FROM pilot_batch b
       WHERE b.organization_id = $1 AND b.named_job_id = selected_changes.job_id
         AND ${dayInTimezoneSql('b.occurred_at', '$2')} > selected_changes.day)::text
     FROM selected_changes WHERE selected_changes.day IS NOT NULL AND selected_changes.job_id IS NOT NULL`,
    [organizationId, zone, changeBatchSize],
    'claim_roi_changes',
  );
  return rows.flatMap(({ day }) => day ?? []);
}

async function recomputeRollupDays(tx: Transaction, organizationId: string, days: string[]): Promise<void> {
  for (const table of ['times', 'cost', 'day'] as const)
    tx.deferStatement(drop[table], [organizationId, days], `drop_roi_${table}`);
  for (const day of days.toSorted()) {
    const batches = await tx.query<BatchOfDay>(
      `SELECT b.workflow_id, b.claims_attempted, b.claims_eob_uploaded, b.claims_no_eob_found, b.claims_failed,
              m.processing_micros
       FROM pilot_batch b
       JOIN organization_settings s ON s.organization_id = b.organization_id
       JOIN pilot_roi_metric m ON m.pilot_batch_id = b.id
       WHERE b.organization_id = $1 AND ${batchDayInRangeSql('$2', '$2')}`,
      [organizationId, day],
      'batches_of_roi_day',
    );
    await insertDayRows(tx, organizationId, summarizeDay(day, batches));
  }
  await tx.execute(insertCosts, [organizationId, days, everyWorkflow], 'insert_roi_costs');
  await tx.execute(
    'UPDATE pilot_roi_state SET revision = revision + 1 WHERE organization_id = $1',
    [organizationId],
    'roi_revision',
  );
}

const drop = {
  times: 'DELETE FROM pilot_roi_times WHERE organization_id = $1 AND day = ANY($2::date[])',
  cost: 'DELETE FROM pilot_roi_cost WHERE organization_id = $1 AND day = ANY($2::date[])',
  day: 'DELETE FROM pilot_roi_day WHERE organization_id = $1 AND day = ANY($2::date[])',
};

async function insertDayRows(
  tx: Transaction,
  organizationId: string,
  { days, times }: ReturnType<typeof summarizeDay>,
): Promise<void> {
  for (const row of days) {
    tx.deferStatement(
      `INSERT INTO pilot_roi_day (organization_id, workflow_id, day, batches, attempted, eob_uploaded, no_eob_found,
         failed, timed, processing_micros, histogram)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        organizationId,
        row.workflowId,
        row.day,
        row.batches,
        row.attempted,
        row.eobUploaded,
        row.noEobFound,
        row.failed,
        row.timed,
        String(row.processingMicros),
        row.histogram,
      ],
      'insert_roi_day',
    );
  }
  await tx.execute(
    `INSERT INTO pilot_roi_times (organization_id, workflow_id, bucket, day, times)
     SELECT $1, workflow_id, bucket, day, decode(times, 'hex')
     FROM unnest($2::uuid[], $3::int[], $4::date[], $5::text[]) AS t (workflow_id, bucket, day, times)`,
    [
      organizationId,
      times.map(({ workflowId }) => workflowId),
      times.map(({ bucket }) => bucket),
      times.map(({ day }) => day),
      times.map((row) => row.times.toString('hex')),
    ],
    'insert_roi_times',
  );
}

const insertCosts = `
  WITH named AS (
    SELECT DISTINCT ON (b.named_job_id, ${dayInTimezoneSql('b.occurred_at')})
      ${dayInTimezoneSql('b.occurred_at')} AS day, b.named_job_id, b.job_id, b.workflow_id, s.timezone,
      COALESCE(j.total_cost_micros, b.deleted_job_cost_micros, 0) AS cost_micros,
      ${waitingMicrosSql} AS waiting_micros
    FROM unnest($2::date[]) AS recomputed (day)
    JOIN organization_settings s ON s.organization_id = $1
    JOIN pilot_batch b ON b.organization_id = $1 AND ${batchDayInRangeSql('recomputed.day', 'recomputed.day')}
    LEFT JOIN job j ON j.id = b.job_id
    WHERE b.named_job_id IS NOT NULL),
  before AS (
    SELECT named.*, COALESCE((
      SELECT max(${dayInTimezoneSql('p.occurred_at', 'named.timezone')}) FROM pilot_batch p
      WHERE p.organization_id = $1 AND p.named_job_id = named.named_job_id
        AND ${dayInTimezoneSql('p.occurred_at', 'named.timezone')} < named.day), '-infinity'::date) AS day_before
    FROM named)
  INSERT INTO pilot_roi_cost (organization_id, workflow_id, day, day_before, jobs, cost_micros, waiting_micros)
  SELECT $1, target.workflow_id, day, day_before, count(job_id)::int, sum(cost_micros), sum(waiting_micros)
  FROM before CROSS JOIN LATERAL (
    SELECT $3::uuid AS workflow_id UNION SELECT before.workflow_id WHERE before.workflow_id IS NOT NULL) target
  GROUP BY target.workflow_id, day, day_before`;
