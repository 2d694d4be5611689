import { audit, type Principal } from '@muster/access';
import { AppError, microsToUsd } from '@muster/contracts';
import { type BillingMetricEntity, type JobEntity, acquireAdvisoryLock, type Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { computeRunCharge } from './compute-run-charge';
import { countClaims } from './count-claims';
import { canAccessOrganization, requirePricingModel } from './pricing-models';

export interface Backfill {
  jobId: string;
  createDefaultModel: boolean;
  force: boolean;
}

/**
 * Computes the charge of a run from the metadata of its steps, and stores the charge with those steps and the pricing
 * model. Concurrent calls for one run wait for each other. Without `force`, only the first call succeeds.
 */
export async function backfillMetrics(
  tx: Transaction,
  caller: Principal,
  { jobId, createDefaultModel, force }: Backfill,
): Promise<{ metric: BillingMetricEntity; replacedExisting: boolean }> {
  await acquireAdvisoryLock(tx, 'client-pricing', jobId);
  const organizationId = await lockJobAndGetOrganization(tx, caller, jobId);
  const replaced = await tx.query<Pick<BillingMetricEntity, 'id'>>(
    'DELETE FROM billing_metric WHERE job_id = $1 AND organization_id = $2 RETURNING id',
    [jobId, organizationId],
  );
  if (replaced.length > 0 && !force) {
    throw new AppError('billing_record_exists', {
      detail: 'The job already has a billing record. To replace it, set force to true.',
    });
  }
  const id = newId();
  const { source, candidates, duplicates, claimsPerNpi } = await countClaims(tx, {
    metricId: id,
    organizationId,
    jobId,
  });
  if (!source)
    throw new AppError('metadata_not_found', {
      detail: 'No step of the job names a claim or an NPI, so there is nothing to bill. Choose another job.',
    });
  const model = await requirePricingModel(tx, caller, organizationId, { createDefault: createDefaultModel });
  const claims = Object.values(claimsPerNpi);
  const metric: BillingMetricEntity = {
    id,
    organizationId,
    jobId,
    source,
    npiCount: claims.length,
    totalClaims: claims.reduce((sum, each) => sum + each, 0),
    totalStepsBeforeDedup: candidates,
    duplicatesRemoved: duplicates,
    claimsPerNpi,
    chargeMicros: computeRunCharge(model, claimsPerNpi).chargeMicros,
    ...model,
    computedAt: tx.now,
  };
  await insertBillingMetric(tx, metric);
  audit(tx, caller, {
    organizationId,
    action: 'client_pricing.backfill',
    target: { type: 'job', id: jobId },
    changes: { metricId: id, replaced: replaced[0]?.id ?? null, chargeUsd: microsToUsd(metric.chargeMicros) },
  });
  return { metric, replacedExisting: replaced.length > 0 };
}

/**
 * Returns the organization of the job and locks the job, so that the job cannot be deleted before the commit. An admin
 * has access to jobs of the own organization, a super_admin to jobs of any organization.
 */
async function lockJobAndGetOrganization(tx: Transaction, caller: Principal, jobId: string): Promise<string> {
  const [job] = await tx.query<Pick<JobEntity, 'organizationId'> & { hasOrganization: boolean }>(
    `SELECT j.organization_id, EXISTS (SELECT FROM organization o WHERE o.id = j.organization_id) AS has_organization
     FROM job j WHERE j.id = $1 FOR KEY SHARE`,
    [jobId],
  );
  if (!job || !canAccessOrganization(caller, job.organizationId)) {
    throw new AppError('job_not_found', {
      detail: 'The organization has no job with this id. List the jobs to find the id.',
    });
  }
  if (!job.hasOrganization)
    throw new AppError('organization_unresolved', {
      detail: 'The organization of the job no longer exists. Choose another job.',
    });
  return job.organizationId;
}

async function insertBillingMetric(tx: Transaction, metric: BillingMetricEntity): Promise<void> {
  await tx.execute(
    `INSERT INTO billing_metric (id, organization_id, job_id, source, npi_count, total_claims, total_steps_before_dedup,
       duplicates_removed, claims_per_npi, charge_micros, pricing_type, block_size, price_micros, minimum_micros,
       computed_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      metric.id,
      metric.organizationId,
      metric.jobId,
      metric.source,
      metric.npiCount,
      metric.totalClaims,
      metric.totalStepsBeforeDedup,
      metric.duplicatesRemoved,
      JSON.stringify(metric.claimsPerNpi),
      metric.chargeMicros,
      metric.pricingType,
      metric.blockSize,
      metric.priceMicros,
      metric.minimumMicros,
      metric.computedAt,
    ],
  );
}
