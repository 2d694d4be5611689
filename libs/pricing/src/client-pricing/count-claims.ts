import type { Transaction } from '@muster/database';

export interface ClaimCount {
  /** Kind of the steps that were counted; null if the run has no usable step of either kind. */
  source: 'claim_result' | 'select_org_provider' | null;
  candidates: number;
  duplicates: number;
  claimsPerNpi: Record<string, number>;
}

/**
 * Counts a run's claims for billing, once for each NPI and claim. The counted steps are stored with the metric, each
 * with its verdict. A claim without an NPI gets the NPI of the last selection before it. If the run has no claims, its
 * selected NPIs are counted with 0 claims each.
 */
export async function countClaims(
  tx: Transaction,
  { metricId, organizationId, jobId }: { metricId: string; organizationId: string; jobId: string },
): Promise<ClaimCount> {
  const [count] = await tx.query<ClaimCount>(countSql, [metricId, organizationId, jobId]);
  return count!;
}

/** Ids are read only from strings and numbers; any other JSON value counts as absent. */
const jsonTextSql = (name: string) =>
  `CASE WHEN jsonb_typeof(metadata->'${name}') IN ('string', 'number') THEN NULLIF(btrim(metadata->>'${name}'), '') END`;

const countSql = `
  WITH step AS (
    SELECT step_order, metadata->>'type' AS type, ${jsonTextSql('npi')} AS npi, ${jsonTextSql('claim_id')} AS claim_id,
           ${jsonTextSql('claim_submission_id')} AS claim_submission_id
    FROM job_step
    WHERE job_id = $3 AND organization_id = $2 AND metadata->>'type' IN ('claim_result', 'select_org_provider')),
  source AS (
    SELECT CASE WHEN bool_or(type = 'claim_result') THEN 'claim_result'
                WHEN bool_or(npi IS NOT NULL) THEN 'select_org_provider' END AS type FROM step),
  selected AS (
    SELECT step.*, count(npi) FILTER (WHERE type = 'select_org_provider') OVER (ORDER BY step_order) AS selection
    FROM step),
  resolved AS (
    SELECT step_order, type, claim_id, claim_submission_id,
           COALESCE(npi, max(npi) FILTER (WHERE type = 'select_org_provider') OVER (PARTITION BY selection)) AS npi
    FROM selected),
  judged AS (
    SELECT r.*, CASE
      WHEN r.npi IS NULL THEN 'left_out'
      WHEN r.type = 'claim_result' AND COALESCE(claim_id, claim_submission_id) IS NULL THEN 'left_out'
      -- claim_id identifies a claim that has both ids. A claim_id never equals a claim_submission_id.
      WHEN row_number() OVER (
        PARTITION BY r.npi, claim_id IS NULL, COALESCE(claim_id, claim_submission_id) ORDER BY step_order) = 1
      THEN 'counted' ELSE 'repeated' END AS verdict
    FROM resolved r JOIN source ON source.type = r.type),
  insert_steps AS (
    INSERT INTO billing_metric_step
      (metric_id, step_order, organization_id, npi, claim_id, claim_submission_id, verdict)
    SELECT $1, step_order, $2, npi, claim_id, claim_submission_id, verdict FROM judged),
  per_npi AS (
    SELECT npi, count(*) FILTER (WHERE type = 'claim_result') AS claims FROM judged WHERE verdict = 'counted' GROUP BY npi)
  SELECT (SELECT type FROM source) AS source,
         (SELECT count(*)::int FROM judged WHERE type = 'claim_result') AS candidates,
         (SELECT count(*)::int FROM judged WHERE type = 'claim_result' AND verdict = 'repeated') AS duplicates,
         (SELECT COALESCE(jsonb_object_agg(npi, claims), '{}') FROM per_npi) AS claims_per_npi`;
