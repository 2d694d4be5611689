import type { Principal } from '@muster/access';
import { AppError, type BillingMetricQuery, notFoundError } from '@muster/contracts';
import {
  type BillingMetricEntity,
  type BillingMetricStepEntity,
  type Database,
  limitPageSizeSql,
  scanRowsSql,
} from '@muster/database';
import { smallestIdAt, type Page } from '@muster/platform';
import { canAccessOrganization } from './pricing-models';

/** Lists billing records, newest first. An admin sees the own organization's records, a super_admin all records. */
export function listMetrics(
  database: Database,
  caller: Principal,
  { query, page }: { query: BillingMetricQuery; page: Page },
): Promise<BillingMetricEntity[]> {
  const { jobId, from, to } = query;
  if (from && to && to < from) {
    const errors = [{ field: 'to', message: 'to must not be before from' }];
    throw new AppError('invalid_payload', { detail: 'The day in `to` must not be before the day in `from`.', errors });
  }
  const isSuper = caller.role === 'super_admin';
  const organizationId = isSuper ? query.organizationId : caller.organizationId;
  if (!isSuper && query.organizationId && !canAccessOrganization(caller, query.organizationId))
    return Promise.resolve([]);
  const values: unknown[] = [];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['true'];
  if (organizationId) within.push(`organization_id = ${addParameter(organizationId)}`);
  if (jobId) within.push(`job_id = ${addParameter(jobId)}`);
  if (page.after) within.push(`id < ${addParameter(page.after[0])}`);
  // Ids are ordered by creation time. The id range is wide enough for the day in any time zone.
  if (from) within.push(`id >= ${addParameter(smallestIdAt(new Date(Date.parse(from) - aroundDayMs)))}`);
  if (to) within.push(`id < ${addParameter(smallestIdAt(new Date(Date.parse(to) + dayMs + aroundDayMs)))}`);
  const timezone = `(SELECT timezone FROM organization_settings s WHERE s.organization_id = scanned.organization_id)`;
  const dayFilter: string[] = [];
  if (from) dayFilter.push(`(computed_at AT TIME ZONE ${timezone})::date >= ${addParameter(from)}`);
  if (to) dayFilter.push(`(computed_at AT TIME ZONE ${timezone})::date <= ${addParameter(to)}`);
  const listed = scanRowsSql({
    from: 'billing_metric',
    columns: `id, organization_id, job_id, source, npi_count, total_claims, total_steps_before_dedup, duplicates_removed,
      claims_per_npi, charge_micros, pricing_type, block_size, price_micros, minimum_micros, computed_at`,
    within,
    filter: dayFilter,
    order: 'id DESC',
    limit: addParameter(page.limit + 1),
  });
  return database.query<BillingMetricEntity & object>(
    isSuper ? 'system' : { organizationId: caller.organizationId },
    // Approximate number of bytes for an NPI in the response, which contains each NPI twice: in a list, and with its
    // claims and charge.
    limitPageSizeSql(listed, { order: 'id DESC', bytes: '4 * pg_column_size(claims_per_npi)' }),
    values,
  );
}

const dayMs = 24 * 3_600_000;
/** Maximum difference in hours between the start of a day in a time zone and the start of the same day in UTC. */
const aroundDayMs = dayMs;

/** Lists the steps that a billing record was computed from, in step order. */
export async function listMetricSteps(
  database: Database,
  caller: Principal,
  { metricId, page }: { metricId: string; page: Page },
): Promise<BillingMetricStepEntity[]> {
  const scope = caller.role === 'super_admin' ? 'system' : { organizationId: caller.organizationId };
  const own = caller.role === 'super_admin' ? null : caller.organizationId;
  const rows = await database.query<BillingMetricStepEntity & object>(
    scope,
    `SELECT step_order, npi, claim_id, claim_submission_id, verdict
     FROM billing_metric_step
     WHERE metric_id = $1 AND ($2::uuid IS NULL OR organization_id = $2) AND step_order > $3
     ORDER BY step_order LIMIT $4`,
    [metricId, own, page.after?.[0] ?? -1, page.limit + 1],
  );
  if (rows.length > 0 || page.after) return rows;
  const [metric] = await database.query(
    scope,
    'SELECT FROM billing_metric WHERE id = $1 AND ($2::uuid IS NULL OR organization_id = $2)',
    [metricId, own],
  );
  if (!metric) throw notFoundError('billing record');
  return rows;
}
