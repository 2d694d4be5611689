import type { Database } from '@muster/database';
import { type Round, sweepRows } from '@muster/platform';
import { releaseConcurrencyKeys } from './concurrency-keys';

/**
 * SQL condition over the lease `l`: the lease is leaked. Its run has ended and the run's machine is not being cleared,
 * or the lease waits for a job that is no longer queued.
 */
const isLeaked = `
  (l.since IS NOT NULL AND NOT EXISTS (SELECT FROM job j WHERE j.id = l.job_id AND j.status IN ('queued', 'running'))
   AND NOT EXISTS (SELECT FROM agent a WHERE a.id = l.agent_id AND a.clearing_command_id IS NOT NULL))
  OR (l.since IS NULL AND NOT EXISTS (SELECT FROM job j WHERE j.id = l.job_id AND j.status = 'queued'))`;

interface Leaked {
  jobId: string;
  organizationId: string;
}

/**
 * Deletes leaked leases. The transaction that ends a run deletes the run's leases, so none should exist; each deleted
 * lease is counted.
 */
export async function repairLeases(database: Database, round: Round): Promise<{ looked: number; repaired: number }> {
  return sweepRows<Leaked, 'repaired'>(round, {
    name: 'leases',
    outcomes: ['repaired'],
    candidates: (after, limit) =>
      database.query<Leaked & object>(
        'system',
        `SELECT DISTINCT l.job_id, l.organization_id FROM concurrency_lease l
         WHERE ($1::uuid IS NULL OR l.job_id > $1) AND (${isLeaked}) ORDER BY l.job_id LIMIT $2`,
        [after?.jobId ?? null, limit],
        'leaked_leases',
      ),
    settle: ({ jobId, organizationId }) =>
      database.transaction('system', async (tx) => {
        const [leaked] = await tx.query(
          `SELECT l.key FROM concurrency_lease l WHERE l.job_id = $1 AND (${isLeaked}) FOR UPDATE OF l SKIP LOCKED LIMIT 1`,
          [jobId],
          'leaked_lease',
        );
        if (!leaked) return null;
        await releaseConcurrencyKeys(tx, organizationId, [jobId]);
        return 'repaired';
      }),
    rowOf: ({ jobId }) => `keys of job ${jobId}`,
  });
}
