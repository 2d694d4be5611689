import type { Database } from '@muster/database';
import type { DaySums, Percentiles } from './roi-figures';
import type { RoiRange } from './roi-range';

export interface RoiSums {
  days: DaySums[];
  percentiles: Percentiles | null;
}

interface Row extends DaySums {
  between: number[] | null;
}

/**
 * Computes the totals of a range from the claims in one statement. A batch whose claims were deleted counts by its
 * stored totals.
 */
export async function computeRoi(
  database: Database,
  organizationId: string,
  { from, to }: RoiRange,
  workflowId: string | null,
): Promise<RoiSums> {
  const rows = await database.query<Row>(
    { organizationId },
    computed,
    [organizationId, from, to, workflowId],
    'compute_roi',
  );
  const between = rows[0]?.between;
  const [p50, p95] = (between ?? []).map(toTwentiethsOfMicrosecond);
  return { days: rows, percentiles: between ? { p50: p50!, p95: p95! } : null };
}

/**
 * Converts microseconds to twentieths of a microsecond. A continuous percentile is a whole number of twentieths, so
 * rounding removes the error of the floating-point number.
 */
function toTwentiethsOfMicrosecond(micros: number): bigint {
  return BigInt(Math.round(micros * 20));
}

/** Day of a timestamp in the organization's time zone, for statements with organization_settings s. */
export const dayInTimezoneSql = (moment: string, zone = 's.timezone') => `(${moment} AT TIME ZONE ${zone})::date`;

/**
 * Condition that the day of batch `b` lies in the range. The first two lines are wider than the range in any time zone
 * and use the index. The last line is exact; bounds by timestamp are not, because clocks that are set back over
 * midnight split a day.
 */
export const batchDayInRangeSql = (from: string, to: string) => `
  b.occurred_at >= ${from}::date::timestamp AT TIME ZONE 'UTC' - interval '26 hours'
  AND b.occurred_at < ${to}::date::timestamp AT TIME ZONE 'UTC' + interval '50 hours'
  AND ${dayInTimezoneSql('b.occurred_at')} BETWEEN ${from}::date AND ${to}::date`;

/** Time in microseconds for which a job waited for people; periods with several open questions count once. */
export const waitingTimeOfJobSql = (jobId: string) => `(
  SELECT COALESCE(sum(extract(epoch FROM upper(w) - lower(w)) * 1000000), 0)::bigint
  FROM unnest((SELECT range_agg(tstzrange(q.asked_at, GREATEST(q.asked_at, q.ended_at)))
               FROM question q WHERE q.job_id = ${jobId} AND q.ended_at IS NOT NULL)) w)`;

/** Time in microseconds for which the job of batch `b` waited for people, also if the job is deleted. */
export const waitingMicrosSql = `
  CASE WHEN b.job_id IS NULL THEN COALESCE(b.deleted_job_waiting_micros, 0) ELSE ${waitingTimeOfJobSql('b.job_id')} END`;

const computed = `
  WITH named AS MATERIALIZED (
    SELECT b.id, ${dayInTimezoneSql('b.occurred_at')} AS day, b.job_id, b.named_job_id, b.claims_attempted,
           b.claims_eob_uploaded, b.claims_no_eob_found, b.claims_failed,
           COALESCE(j.total_cost_micros, b.deleted_job_cost_micros, 0) AS cost_micros,
           ${waitingMicrosSql} AS waiting_micros
    FROM pilot_batch b
    JOIN organization_settings s ON s.organization_id = b.organization_id
    LEFT JOIN job j ON j.id = b.job_id
    WHERE b.organization_id = $1 AND ${batchDayInRangeSql('$2', '$3')} AND ($4::uuid IS NULL OR b.workflow_id = $4)),
  gone AS MATERIALIZED (
    SELECT named.*, m.processing_micros FROM named JOIN pilot_roi_metric m ON m.pilot_batch_id = named.id
    WHERE m.claims_gone),
  claim AS MATERIALIZED (
    SELECT named.day, c.outcome, c.processing_micros AS micros
    FROM named JOIN pilot_claim_result c ON c.pilot_batch_id = named.id
    WHERE c.organization_id = $1
    UNION ALL
    SELECT gone.day, NULL, unnest(gone.processing_micros) FROM gone),
  counted AS (
    SELECT day, count(outcome)::int AS attempted, (count(*) FILTER (WHERE outcome = 'eob_uploaded'))::int AS eob,
           (count(*) FILTER (WHERE outcome = 'no_eob_found'))::int AS none,
           (count(*) FILTER (WHERE outcome = 'failed'))::int AS failed, count(micros)::int AS timed, sum(micros) AS micros
    FROM claim GROUP BY day),
  gone_total AS (
    SELECT day, sum(claims_attempted)::int AS attempted, sum(claims_eob_uploaded)::int AS eob,
           sum(claims_no_eob_found)::int AS none, sum(claims_failed)::int AS failed
    FROM gone GROUP BY day),
  batches AS (
    SELECT day, count(*)::int AS batches FROM named GROUP BY day),
  first AS (
    SELECT DISTINCT ON (named_job_id) day, job_id, cost_micros, waiting_micros FROM named
    WHERE named_job_id IS NOT NULL ORDER BY named_job_id, day),
  cost AS (
    SELECT day, count(job_id)::int AS jobs, sum(cost_micros) AS micros, sum(waiting_micros) AS waiting FROM first
    GROUP BY day),
  percentile AS (
    SELECT percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY micros) AS between FROM claim)
  SELECT day::text AS day, b.batches, COALESCE(c.attempted, 0) + COALESCE(g.attempted, 0) AS attempted,
         COALESCE(c.eob, 0) + COALESCE(g.eob, 0) AS eob_uploaded,
         COALESCE(c.none, 0) + COALESCE(g.none, 0) AS no_eob_found,
         COALESCE(c.failed, 0) + COALESCE(g.failed, 0) AS failed, COALESCE(c.timed, 0) AS timed,
         COALESCE(c.micros, 0)::bigint AS processing_micros, COALESCE(cost.jobs, 0) AS jobs,
         COALESCE(cost.micros, 0)::bigint AS cost_micros, COALESCE(cost.waiting, 0)::bigint AS waiting_micros, p.between
  FROM batches b LEFT JOIN counted c USING (day) LEFT JOIN gone_total g USING (day) LEFT JOIN cost USING (day)
  CROSS JOIN percentile p ORDER BY day`;
