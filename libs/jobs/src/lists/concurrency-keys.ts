import { audit, type Principal } from '@muster/access';
import { AppError, type SetConcurrencyLimitBody } from '@muster/contracts';
import {
  type ConcurrencyLeaseEntity,
  type Database,
  containsIgnoringCaseSql,
  acquireAdvisoryLock,
  type Transaction,
} from '@muster/database';
import type { Page } from '@muster/platform';
import { enqueueFirstWaitingJobs } from '../dispatch/concurrency-keys';

export interface ConcurrencyKeyRow {
  key: string;
  /** The limit that applies: the smallest of all limits of the key. */
  limit: number;
  held: number;
  waiting: number;
  oldestWaitingSince: Date | null;
}

/** Lists the keys that runs hold or wait for, and the keys for which the organization has set a limit. */
export function listConcurrencyKeys(
  database: Database,
  organizationId: string,
  { page, q, key }: { page: Page; q?: string | undefined; key?: string },
): Promise<ConcurrencyKeyRow[]> {
  return database.query<ConcurrencyKeyRow>(
    { organizationId },
    `SELECT key, min(most)::int AS "limit", count(*) FILTER (WHERE since IS NOT NULL)::int AS held,
            count(*) FILTER (WHERE waits)::int AS waiting, min(queued_at) FILTER (WHERE waits) AS oldest_waiting_since
     FROM (SELECT key, most, since, since IS NULL AS waits, queued_at FROM concurrency_lease WHERE organization_id = $1
           UNION ALL
           SELECT key, "limit", NULL, false, NULL FROM concurrency_limit WHERE organization_id = $1) k
     WHERE ($2::text IS NULL OR key > $2) AND ($4::text IS NULL OR ${containsIgnoringCaseSql('key', '$4')})
       AND ($5::text IS NULL OR key = $5)
     GROUP BY key ORDER BY key LIMIT $3`,
    [organizationId, page.after?.[0] ?? null, page.limit + 1, q || null, key ?? null],
    'list_concurrency_keys',
  );
}

/** A job can only hold a key after it was sent to an agent, so its agent is not null. */
export type KeyHolder = Pick<ConcurrencyLeaseEntity, 'jobId'> & { agentId: string; since: Date };

/** Lists the runs that hold a key, in the order in which they acquired it. */
export function listKeyHolders(database: Database, organizationId: string, key: string): Promise<KeyHolder[]> {
  return database.query<KeyHolder>(
    { organizationId },
    `SELECT job_id, agent_id, since FROM concurrency_lease
     WHERE organization_id = $1 AND key = $2 AND since IS NOT NULL ORDER BY since, job_id LIMIT 1000`,
    [organizationId, key],
    'list_key_holders',
  );
}

/** Sets the organization's limit for a key. Runs that hold the key continue; waiting jobs start by the new limit. */
export async function setConcurrencyLimit(
  tx: Transaction,
  caller: Principal,
  { key, limit }: SetConcurrencyLimitBody,
): Promise<void> {
  const { organizationId } = caller;
  await acquireAdvisoryLock(tx, 'concurrency key', organizationId, key);
  await tx.execute(
    `INSERT INTO concurrency_limit (organization_id, key, "limit") VALUES ($1, $2, $3)
     ON CONFLICT (organization_id, key) DO UPDATE SET "limit" = $3`,
    [organizationId, key, limit],
  );
  audit(tx, caller, {
    action: 'concurrency_key.limit',
    target: { type: 'concurrency_key', id: key },
    changes: { limit },
  });
  await enqueueFirstWaitingJobs(tx, organizationId, [key], limit);
}

export async function deleteConcurrencyLimit(tx: Transaction, caller: Principal, key: string): Promise<void> {
  const { organizationId } = caller;
  await acquireAdvisoryLock(tx, 'concurrency key', organizationId, key);
  const touched = await tx.execute('DELETE FROM concurrency_limit WHERE organization_id = $1 AND key = $2', [
    organizationId,
    key,
  ]);
  if (touched === 0)
    throw new AppError('not_found', {
      detail: 'The organization has not set a limit for this concurrency key, so there is nothing to remove.',
    });
  audit(tx, caller, { action: 'concurrency_key.limit_delete', target: { type: 'concurrency_key', id: key } });
  await enqueueFirstWaitingJobs(tx, organizationId, [key], 1000);
}
