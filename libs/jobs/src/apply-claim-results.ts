import type { ClaimResult } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { Reporter } from './apply-job-report';
import { noSuchJob } from './job-row';

export interface ClaimCounts {
  attempted: number;
  eobUploaded: number;
  noEobFound: number;
  failed: number;
}

/** Claim outcomes: one for each claim of the job, the newest; the job's counters move by what that changes. */
export async function applyClaimResults(
  database: Database,
  { organizationId, agentId }: Reporter,
  { jobId, claims }: { jobId: string; claims: ClaimResult[] },
): Promise<{ accepted: number; claims: ClaimCounts }> {
  // Within a request the last word on a claim counts.
  const last = [...new Map(claims.map((claim) => [claim.claimId, claim])).values()];
  const [row] = await database.query<ClaimCounts & { accepted: number }>(
    { organizationId },
    apply,
    [
      jobId,
      organizationId,
      agentId,
      last.map(({ claimId }) => claimId),
      last.map(({ npi }) => npi ?? null),
      last.map(({ outcome }) => outcome),
      last.map(({ message }) => message ?? null),
      last.map(({ metadata }) => (metadata ? JSON.stringify(metadata) : null)),
    ],
    'apply_claims',
  );
  if (!row) throw noSuchJob();
  const { accepted, ...counts } = row;
  return { accepted, claims: counts };
}

const apply = `
  WITH j AS (
    SELECT * FROM job WHERE id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3) FOR UPDATE),
  given AS (
    SELECT * FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::jsonb[])
      AS g (claim_id, npi, outcome, message, metadata)),
  old AS (
    SELECT c.claim_id, c.outcome FROM claim_outcome c JOIN j ON j.id = c.job_id
    WHERE c.claim_id = ANY($4)),
  written AS (
    INSERT INTO claim_outcome AS c (job_id, claim_id, organization_id, npi, outcome, message, metadata)
    SELECT j.id, g.claim_id, $2, g.npi, g.outcome, g.message, g.metadata FROM j, given g
    ON CONFLICT (job_id, claim_id) DO UPDATE SET
      npi = COALESCE(excluded.npi, c.npi), outcome = excluded.outcome, message = excluded.message,
      metadata = COALESCE(excluded.metadata, c.metadata), updated_at = now()
    WHERE (c.outcome, c.message, c.npi, c.metadata) IS DISTINCT FROM
          (excluded.outcome, excluded.message, COALESCE(excluded.npi, c.npi), COALESCE(excluded.metadata, c.metadata))
    RETURNING c.claim_id, c.outcome),
  delta AS (
    SELECT count(*) FILTER (WHERE o.claim_id IS NULL) AS attempted,
      count(*) FILTER (WHERE w.outcome = 'eob_uploaded') - count(*) FILTER (WHERE o.outcome = 'eob_uploaded') AS eob,
      count(*) FILTER (WHERE w.outcome = 'no_eob_found') - count(*) FILTER (WHERE o.outcome = 'no_eob_found') AS none,
      count(*) FILTER (WHERE w.outcome = 'failed') - count(*) FILTER (WHERE o.outcome = 'failed') AS failed,
      count(*) AS accepted
    FROM written w LEFT JOIN old o ON o.claim_id = w.claim_id),
  counted AS (
    UPDATE job SET claims_attempted = job.claims_attempted + delta.attempted,
      claims_eob_uploaded = job.claims_eob_uploaded + delta.eob,
      claims_no_eob_found = job.claims_no_eob_found + delta.none,
      claims_failed = job.claims_failed + delta.failed,
      last_progress_at = CASE WHEN delta.accepted > 0 AND job.status = 'running' THEN now() ELSE job.last_progress_at END
    FROM j, delta WHERE job.id = j.id
    RETURNING job.claims_attempted, job.claims_eob_uploaded, job.claims_no_eob_found, job.claims_failed)
  SELECT counted.claims_attempted AS attempted, counted.claims_eob_uploaded AS "eobUploaded",
         counted.claims_no_eob_found AS "noEobFound", counted.claims_failed AS failed,
         delta.accepted::int AS accepted
  FROM counted, delta`;
