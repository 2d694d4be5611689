import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A claim is identified by its id and its NPI. Of two reports the one that was signed later wins. */
export class ClaimsByNpi1763786000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query("UPDATE claim_outcome SET npi = '' WHERE npi IS NULL");
    await runner.query(`
      ALTER TABLE claim_outcome
        ALTER npi SET DEFAULT '', ALTER npi SET NOT NULL,
        ADD signed_at timestamptz NOT NULL DEFAULT now(),
        DROP CONSTRAINT claim_outcome_pkey, ADD PRIMARY KEY (job_id, claim_id, npi)`);
    await runner.query('UPDATE claim_outcome SET signed_at = updated_at');
    // Recounts the claims, because concurrent reports had counted some wrongly.
    await runner.query(`
      UPDATE job SET claims_attempted = c.attempted, claims_eob_uploaded = c.eob, claims_no_eob_found = c.none,
        claims_failed = c.failed
      FROM (
        SELECT job_id, count(*) AS attempted, count(*) FILTER (WHERE outcome = 'eob_uploaded') AS eob,
          count(*) FILTER (WHERE outcome = 'no_eob_found') AS none, count(*) FILTER (WHERE outcome = 'failed') AS failed
        FROM claim_outcome GROUP BY job_id) c
      WHERE job.id = c.job_id
        AND (claims_attempted, claims_eob_uploaded, claims_no_eob_found, claims_failed)
          IS DISTINCT FROM (c.attempted, c.eob, c.none, c.failed)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM claim_outcome o USING claim_outcome newer
      WHERE newer.job_id = o.job_id AND newer.claim_id = o.claim_id
        AND (newer.signed_at, newer.npi) > (o.signed_at, o.npi)`);
    await runner.query(`
      ALTER TABLE claim_outcome
        DROP CONSTRAINT claim_outcome_pkey, ADD PRIMARY KEY (job_id, claim_id),
        DROP signed_at, ALTER npi DROP NOT NULL, ALTER npi DROP DEFAULT`);
    await runner.query("UPDATE claim_outcome SET npi = NULL WHERE npi = ''");
  }
}
