import type { ClaimResult } from '@muster/contracts';
import type { Database } from '@muster/database';
import { type JobIsOver, answerForDeletedJob } from './deleted-job';
import { lockJobBeforeRead } from '../lists/job-row';
import type { Reporter } from './reporter';

export interface ClaimCounts {
  attempted: number;
  eobUploaded: number;
  noEobFound: number;
  failed: number;
}

/**
 * Stores one outcome for each claim of the job. A claim is identified by its id and its NPI; the outcome that was
 * signed last is stored. The job's counters are computed from these rows under the job's lock.
 */
export async function applyClaimResults(
  database: Database,
  { organizationId, agentId }: Reporter,
  { jobId, claims, signedAt }: { jobId: string; claims: ClaimResult[]; signedAt: Date },
): Promise<{ accepted: number; claims: ClaimCounts } | JobIsOver> {
  // If a request contains a claim several times, its last outcome in the request is used.
  const last = [...new Map(claims.map((claim) => [JSON.stringify([claim.claimId, claim.npi]), claim])).values()];
  const [row] = await database.transaction({ organizationId }, (tx) => {
    lockJobBeforeRead(tx, organizationId, jobId);
    return tx.query<ClaimCounts & { accepted: number }>(
      apply,
      [
        jobId,
        organizationId,
        agentId,
        last.map(({ claimId }) => claimId),
        last.map(({ npi }) => npi ?? ''),
        last.map(({ outcome }) => outcome),
        last.map(({ message }) => message ?? null),
        last.map(({ metadata }) => (metadata ? JSON.stringify(metadata) : null)),
        signedAt,
      ],
      'apply_claims',
    );
  });
  if (!row) return answerForDeletedJob(database, { organizationId, agentId }, jobId);
  const { accepted, ...counts } = row;
  return { accepted, claims: counts };
}

const apply = `
  WITH j AS (
    SELECT id FROM job WHERE id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3)),
  reported_claims AS (
    SELECT * FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::jsonb[])
      AS g (claim_id, npi, outcome, message, metadata)),
  written AS (
    INSERT INTO claim_outcome AS c (job_id, claim_id, npi, organization_id, outcome, message, metadata, signed_at)
    SELECT j.id, g.claim_id, g.npi, $2, g.outcome, g.message, g.metadata, $9 FROM j, reported_claims g
    ON CONFLICT (job_id, claim_id, npi) DO UPDATE SET
      outcome = excluded.outcome, message = excluded.message, metadata = excluded.metadata,
      signed_at = excluded.signed_at,
      updated_at = CASE WHEN (c.outcome, c.message, c.metadata) IS DISTINCT FROM
          (excluded.outcome, excluded.message, excluded.metadata) THEN muster_now() ELSE c.updated_at END
    WHERE excluded.signed_at >= c.signed_at
    RETURNING c.claim_id, c.npi, c.outcome, c.message, c.metadata),
  every AS (
    SELECT outcome FROM written
    UNION ALL
    SELECT c.outcome FROM claim_outcome c JOIN j ON j.id = c.job_id
    WHERE NOT EXISTS (SELECT FROM written w WHERE w.claim_id = c.claim_id AND w.npi = c.npi)),
  counted AS (
    SELECT count(*)::int AS attempted, (count(*) FILTER (WHERE outcome = 'eob_uploaded'))::int AS eob_uploaded,
           (count(*) FILTER (WHERE outcome = 'no_eob_found'))::int AS no_eob_found,
           (count(*) FILTER (WHERE outcome = 'failed'))::int AS failed
    FROM every),
  accepted AS (
    -- Reading the table returns the rows from before this statement.
    SELECT count(*)::int AS accepted
    FROM written w LEFT JOIN claim_outcome c ON c.job_id = $1 AND c.claim_id = w.claim_id AND c.npi = w.npi
    WHERE c.job_id IS NULL OR (c.outcome, c.message, c.metadata) IS DISTINCT FROM (w.outcome, w.message, w.metadata)),
  update_job AS (
    UPDATE job SET claims_attempted = counted.attempted, claims_eob_uploaded = counted.eob_uploaded,
      claims_no_eob_found = counted.no_eob_found, claims_failed = counted.failed,
      last_progress_at = CASE WHEN job.status = 'running' THEN muster_now() ELSE job.last_progress_at END
    FROM j, counted, accepted WHERE job.id = j.id AND accepted.accepted > 0)
  SELECT counted.*, accepted.accepted FROM j, counted, accepted`;
