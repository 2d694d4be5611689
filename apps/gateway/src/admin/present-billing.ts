import { type BillingMetric, type BillingMetricStep, microsToUsd } from '@muster/contracts';
import type { BillingMetricEntity, BillingMetricStepEntity } from '@muster/database';
import { computeRunCharge, presentPricingModel } from '@muster/pricing';

/** The API specifies snake case for the fields of billing records. */
export function presentBillingMetric(row: BillingMetricEntity): BillingMetric {
  return {
    ...presentBillingFigures(row),
    job_id: row.jobId,
    computed_from: row.source,
    computed_at: row.computedAt.toISOString(),
  };
}

export function presentBillingFigures(row: BillingMetricEntity) {
  return {
    metric_id: row.id,
    organization_id: row.organizationId,
    npi_count: row.npiCount,
    total_claims: row.totalClaims,
    total_steps_before_dedup: row.totalStepsBeforeDedup,
    duplicates_removed: row.duplicatesRemoved,
    claims_per_npi: row.claimsPerNpi,
    calculated_charge_usd: microsToUsd(row.chargeMicros),
    charge_breakdown: presentBreakdown(row),
  };
}

/** Returns the fields of the pricing model and the numbers that the charge is computed from. */
function presentBreakdown(row: BillingMetricEntity): Record<string, unknown> {
  const { minimumUsd, ...price } = presentPricingModel(row);
  const { pricingType } = row;
  if (pricingType === 'per_claim') return { ...price, claims: row.totalClaims, minimumUsd };
  if (pricingType === 'flat_per_run') return { ...price, minimumUsd };
  const npis = computeRunCharge(row, row.claimsPerNpi).npis.map(({ chargeMicros, ...each }) => ({
    ...each,
    chargeUsd: microsToUsd(chargeMicros),
  }));
  return { ...price, npis, minimumUsd };
}

export function presentMetricStep(row: BillingMetricStepEntity): BillingMetricStep {
  return {
    step_order: row.stepOrder,
    npi: row.npi,
    claim_id: row.claimId,
    claim_submission_id: row.claimSubmissionId,
    verdict: row.verdict,
  };
}
