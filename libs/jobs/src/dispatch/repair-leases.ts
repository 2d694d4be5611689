import type { Database } from '@muster/database';
import { type Round, sweepRows } from '@muster/platform';
import { releaseAccounts } from '../accounts/borrow-accounts';
import { releaseConcurrencyKeys } from './concurrency-keys';

/**
 * SQL condition: the lease of a concurrency key, or the use of an account, `l` is leaked. Its run has ended and the
 * run's machine is not being cleared, or it waits for a job that is no longer queued.
 */
const isLeaked = `(
  (l.since IS NOT NULL AND NOT EXISTS (SELECT FROM job j WHERE j.id = l.job_id AND j.status IN ('queued', 'running'))
   AND NOT EXISTS (SELECT FROM agent a WHERE a.id = l.agent_id AND a.clearing_command_id IS NOT NULL))
  OR (l.since IS NULL AND NOT EXISTS (SELECT FROM job j WHERE j.id = l.job_id AND j.status = 'queued')))`;

interface Leaked {
  jobId: string;
  organizationId: string;
}

/**
 * Deletes leaked leases of concurrency keys, and takes back leaked accounts. The transaction that ends a run already
 * releases both, so no leak should exist; each run with a leak is counted.
 */
export async function repairLeakedLeases(
  database: Database,
  round: Round,
): Promise<{ looked: number; repaired: number }> {
  return sweepRows<Leaked, 'repaired'>(round, {
    name: 'leases',
    outcomes: ['repaired'],
    candidates: (after, limit) =>
      database.query<Leaked & object>(
        'system',
        `(SELECT DISTINCT l.job_id, l.organization_id FROM concurrency_lease l
          WHERE ($1::uuid IS NULL OR l.job_id > $1) AND ${isLeaked} ORDER BY l.job_id LIMIT $2)
         UNION
         (SELECT DISTINCT l.job_id, l.organization_id FROM account_use l
          WHERE l.until IS NULL AND ($1::uuid IS NULL OR l.job_id > $1) AND ${isLeaked} ORDER BY l.job_id LIMIT $2)
         ORDER BY job_id LIMIT $2`,
        [after?.jobId ?? null, limit],
        'leaked_leases',
      ),
    settle: ({ jobId, organizationId }) =>
      database.transaction('system', async (tx) => {
        const [key] = await tx.query(
          `SELECT l.key FROM concurrency_lease l WHERE l.job_id = $1 AND ${isLeaked} FOR UPDATE OF l SKIP LOCKED LIMIT 1`,
          [jobId],
          'leaked_lease',
        );
        const [use] = await tx.query(
          `SELECT l.pool FROM account_use l WHERE l.job_id = $1 AND l.until IS NULL AND ${isLeaked}
           FOR UPDATE OF l SKIP LOCKED LIMIT 1`,
          [jobId],
          'leaked_account',
        );
        if (key) await releaseConcurrencyKeys(tx, organizationId, [jobId]);
        if (use) await releaseAccounts(tx, organizationId, [jobId]);
        return key || use ? 'repaired' : null;
      }),
    rowOf: ({ jobId }) => `keys and accounts of job ${jobId}`,
  });
}
