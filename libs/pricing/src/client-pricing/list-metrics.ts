import type { Principal } from '@muster/access';
import { AppError, type BillingMetricQuery } from '@muster/contracts';
import { type BillingMetricEntity, type BillingMetricStepEntity, type Database, pageWithin } from '@muster/database';
import type { Page } from '@muster/platform';
import { reaches } from './pricing-models';

/** Billing records, newest first: an admin's own organization's, a super_admin's of any. */
export function listMetrics(
  database: Database,
  caller: Principal,
  { query, page }: { query: BillingMetricQuery; page: Page },
): Promise<BillingMetricEntity[]> {
  const { jobId, from, to } = query;
  if (from && to && to < from) {
    const errors = [{ field: 'to', message: 'to must not be before from' }];
    throw new AppError('invalid_payload', { detail: 'to must not be before from.', errors });
  }
  const isSuper = caller.role === 'super_admin';
  const organizationId = isSuper ? query.organizationId : caller.organizationId;
  if (!isSuper && query.organizationId && !reaches(caller, query.organizationId)) return Promise.resolve([]);
  return database.query<BillingMetricEntity & object>(
    isSuper ? 'system' : { organizationId: caller.organizationId },
    pageWithin(
      `SELECT m.id, m.organization_id, m.job_id, m.source, m.npi_count, m.total_claims, m.total_steps_before_dedup,
              m.duplicates_removed, m.claims_per_npi, m.charge_micros, m.pricing_type, m.block_size, m.price_micros,
              m.minimum_micros, m.computed_at
       FROM billing_metric m JOIN organization_settings s ON s.organization_id = m.organization_id
       WHERE ($1::uuid IS NULL OR m.organization_id = $1) AND ($2::uuid IS NULL OR m.job_id = $2)
         AND ($3::date IS NULL OR (m.computed_at AT TIME ZONE s.timezone)::date >= $3)
         AND ($4::date IS NULL OR (m.computed_at AT TIME ZONE s.timezone)::date <= $4)
         AND ($5::uuid IS NULL OR m.id < $5)
       ORDER BY m.id DESC LIMIT $6`,
      // On the wire each NPI is there twice, the second time with its figures.
      { order: 'id DESC', bytes: '4 * pg_column_size(claims_per_npi)' },
    ),
    [organizationId ?? null, jobId ?? null, from ?? null, to ?? null, page.after?.[0] ?? null, page.limit + 1],
  );
}

/** What a record was computed from, in the order of the steps. */
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
  if (!metric) throw new AppError('not_found', { detail: 'There is no such billing record.' });
  return rows;
}
