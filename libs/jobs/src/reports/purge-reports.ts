import { purgeByRetention } from '@muster/access';
import type { Database } from '@muster/database';
import type { Round } from '@muster/platform';

const rowsPerStep = 1000;

/**
 * Deletes the steps and the claims of runs that ended before the organization's retention periods. The runs keep their
 * counters.
 */
export async function purgeStepsAndClaims(
  database: Database,
  round: Round,
  now: Date,
): Promise<{ steps: number; claims: number }> {
  const purgeReportsOfKind = (name: 'steps' | 'claims', keptFor: 'stepRetentionDays' | 'claimRetentionDays') =>
    purgeByRetention(database, round, {
      name: `${name} of runs`,
      keptFor,
      now,
      step: async (organizationId, before) =>
        (await database.query('system', purgeSql[name], [organizationId, before, rowsPerStep], `purge_${name}`)).length,
    });
  const steps = await purgeReportsOfKind('steps', 'stepRetentionDays');
  const claims = await purgeReportsOfKind('claims', 'claimRetentionDays');
  return { steps: steps.purged, claims: claims.purged };
}

const purgeSql = {
  steps: `
    DELETE FROM job_step s USING (
      SELECT s.job_id, s.step_order FROM job j JOIN job_step s ON s.job_id = j.id
      WHERE j.organization_id = $1 AND j.finished_at < $2 LIMIT $3) old
    WHERE s.job_id = old.job_id AND s.step_order = old.step_order AND s.organization_id = $1 RETURNING s.step_order`,
  claims: `
    DELETE FROM claim_outcome c USING (
      SELECT c.job_id, c.claim_id, c.npi FROM job j JOIN claim_outcome c ON c.job_id = j.id
      WHERE j.organization_id = $1 AND j.finished_at < $2 LIMIT $3) old
    WHERE c.job_id = old.job_id AND c.claim_id = old.claim_id AND c.npi = old.npi AND c.organization_id = $1
    RETURNING c.claim_id`,
};
