import type { Database, PilotRoiDayEntity, PilotRoiStateEntity, PilotRoiTimesEntity } from '@muster/database';
import { bucketCount, decodeBucketCounts } from './histogram';
import type { RoiSums } from './compute-roi';
import type { DaySums, Percentiles } from './roi-figures';
import type { RoiRange } from './roi-range';
import { everyWorkflow } from './summarize-day';

export interface RollupRead {
  organizationId: string;
  range: RoiRange;
  workflowId: string | null;
}

interface Row extends DaySums {
  isCurrent: boolean;
  revision: number | null;
  histogram: PilotRoiDayEntity['histogram'] | null;
}

/** Reads the totals of a range from the rollups; null if changes are not applied to the rollups yet. */
export async function readRollup(database: Database, read: RollupRead): Promise<RoiSums | null> {
  const { organizationId, range, workflowId } = read;
  const rows = await database.query<Row>(
    { organizationId },
    daysSql,
    [organizationId, range.from, range.to, workflowId ?? everyWorkflow],
    'roi_days',
  );
  const [first] = rows;
  if (!first?.isCurrent || first.revision === null) return null;
  const days = rows.filter(({ day }) => day !== null);
  const counts = new Float64Array(bucketCount);
  for (const { histogram } of days) decodeBucketCounts(histogram!, (bucket, count) => (counts[bucket]! += count));
  const timed = days.reduce((sum, each) => sum + each.timed, 0);
  if (timed === 0) return { days, percentiles: null };
  const percentiles = await readPercentiles(database, read, { counts, timed, revision: first.revision });
  return percentiles && { days, percentiles };
}

/** Whether no change is pending and the time zone is still the same. Read in the same statement as the totals. */
const isCurrent = `
  (SELECT r.timezone = s.timezone AND NOT EXISTS (SELECT FROM pilot_roi_change c WHERE c.organization_id = $1)
   FROM pilot_roi_state r JOIN organization_settings s ON s.organization_id = r.organization_id
   WHERE r.organization_id = $1) AS is_current,
  (SELECT r.revision FROM pilot_roi_state r WHERE r.organization_id = $1) AS revision`;

// LATERAL looks up the job costs of each day by index. With a plain join, the planner might scan all costs for each
// day.
const daysSql = `
  SELECT state.*, d.day::text AS day, d.batches, d.attempted, d.eob_uploaded, d.no_eob_found, d.failed, d.timed,
         d.processing_micros, d.histogram, COALESCE(cost.jobs, 0) AS jobs, COALESCE(cost.cost_micros, 0) AS cost_micros,
         COALESCE(cost.waiting_micros, 0) AS waiting_micros
  FROM (SELECT ${isCurrent}) state
  LEFT JOIN pilot_roi_day d ON d.organization_id = $1 AND d.workflow_id = $4 AND d.day BETWEEN $2::date AND $3::date
  CROSS JOIN LATERAL (
    SELECT sum(c.jobs)::int AS jobs, sum(c.cost_micros)::bigint AS cost_micros,
           sum(c.waiting_micros)::bigint AS waiting_micros
    FROM pilot_roi_cost c
    WHERE c.organization_id = $1 AND c.workflow_id = $4 AND c.day = d.day AND c.day_before < $2::date) cost
  ORDER BY d.day`;

interface TimesOfBucket extends Pick<PilotRoiStateEntity, 'revision'>, Pick<PilotRoiTimesEntity, 'times'> {
  bucket: PilotRoiTimesEntity['bucket'] | null;
}

/**
 * Computes continuous percentiles. The histogram determines the buckets of the two neighbouring times of each
 * percentile, and only the times of these buckets are read. Null if the rollups were refreshed since the histogram was
 * read.
 */
async function readPercentiles(
  database: Database,
  { organizationId, range, workflowId }: RollupRead,
  { counts, timed, revision }: { counts: Float64Array; timed: number; revision: number },
): Promise<Percentiles | null> {
  // The position of percentile p among the sorted times is p × (timed − 1), here in twentieths.
  const positions = [10, 19].map((twentieths) => {
    const position = twentieths * (timed - 1);
    return { rank: Math.floor(position / 20), part: BigInt(position % 20) };
  });
  const neighbours = positions
    .flatMap(({ rank }) => [rank, Math.min(rank + 1, timed - 1)])
    .map((rank) => findBucketOfRank(counts, rank));
  const rows = await database.query<TimesOfBucket>(
    { organizationId },
    timesSql,
    [organizationId, range.from, range.to, workflowId ?? everyWorkflow, neighbours.map(({ bucket }) => bucket)],
    'roi_times',
  );
  if (rows[0]?.revision !== revision) return null;
  const times = new Map(neighbours.map(({ bucket }) => [bucket, new Times()]));
  for (const row of rows) times.get(row.bucket!)?.addPackedTimes(row.times);
  const found = neighbours.map(({ bucket, ahead }) => BigInt(times.get(bucket)!.getTimeAt(ahead)));
  const [p50, p95] = positions.map(({ part }, index) => {
    const [below, above] = [found[2 * index]!, found[2 * index + 1]!];
    return 20n * below + part * (above - below);
  });
  return { p50: p50!, p95: p95! };
}

/** Finds the bucket of the time at a rank (from 0, ascending), and the number of smaller times in that bucket. */
function findBucketOfRank(counts: Float64Array, rank: number): { bucket: number; ahead: number } {
  let ahead = rank;
  let bucket = 0;
  for (; ahead >= counts[bucket]!; bucket += 1) ahead -= counts[bucket]!;
  return { bucket, ahead };
}

/** Processing times of one histogram bucket, collected from all days of the range. */
class Times {
  private readonly micros: number[] = [];
  private readonly repeats = new Map<number, number>();
  private sorted?: Float64Array;

  addPackedTimes(packed: Buffer): void {
    decodeBucketCounts(packed, (micros, count) => {
      this.micros.push(micros);
      if (count > 1) this.repeats.set(micros, (this.repeats.get(micros) ?? 0) + count - 1);
    });
  }

  /** Returns the time that has `ahead` times before it in ascending order. */
  getTimeAt(ahead: number): number {
    this.sorted ??= Float64Array.from(this.micros).sort();
    if (this.repeats.size === 0) return this.sorted[ahead]!;
    let rest = ahead;
    for (let index = 0; ; index += 1) {
      const micros = this.sorted[index]!;
      const isFirst = micros !== this.sorted[index - 1];
      rest -= 1 + (isFirst ? (this.repeats.get(micros) ?? 0) : 0);
      if (rest < 0) return micros;
    }
  }
}

const timesSql = `
  SELECT r.revision, t.bucket, t.times FROM pilot_roi_state r
  LEFT JOIN pilot_roi_times t ON t.organization_id = r.organization_id AND t.workflow_id = $4
    AND t.bucket = ANY($5::int[]) AND t.day BETWEEN $2::date AND $3::date
  WHERE r.organization_id = $1`;
