import { type AccountRequest, AppError, type ConcurrencyKey } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { freeAccountsSql } from '../accounts/accounts-sql';
import { findFullKeys } from '../dispatch/concurrency-keys';
import type { FullKey } from '../dispatch/decide-start';
import { fillVariablesIntoConcurrencyKeys } from '../launch/resolve-concurrency-keys';

export interface Guards {
  /** Concurrency keys that have no room for the run now. */
  fullKeys: FullKey[];
  /** A pool that has no free account for the run; null if each has one. */
  busyPool: string | null;
  /** Whether a concurrency key was not checked, because it contains a variable that has no value yet. */
  unknownKeys: boolean;
}

/** Returns what a run with these keys and accounts would wait for now. Nothing is locked. */
export async function findBusyKeysAndPools(
  tx: Transaction,
  organizationId: string,
  {
    keys,
    accounts,
    variables = {},
  }: {
    keys: readonly ConcurrencyKey[];
    accounts: readonly AccountRequest[];
    variables?: Record<string, string>;
  },
): Promise<Guards> {
  const resolved = keys.map((key) => resolveKeyIfVariablesKnown(key, variables));
  const known = resolved.filter((key) => key !== null);
  return {
    fullKeys: known.length ? await findFullKeys(tx, organizationId, known) : [],
    busyPool: accounts.length ? await findBusyPool(tx, organizationId, accounts) : null,
    unknownKeys: known.length < resolved.length,
  };
}

function resolveKeyIfVariablesKnown(
  key: ConcurrencyKey,
  variables: Record<string, string>,
): Required<ConcurrencyKey> | null {
  try {
    return fillVariablesIntoConcurrencyKeys({ requested: [], workflowKeys: [key] }, variables)[0]!;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

async function findBusyPool(
  tx: Transaction,
  organizationId: string,
  accounts: readonly AccountRequest[],
): Promise<string | null> {
  const [busy] = await tx.query<{ pool: string }>(
    `SELECT p.pool FROM unnest($2::text[]) AS p (pool) WHERE NOT EXISTS (SELECT FROM ${freeAccountsSql('$1', 'p.pool')})
     ORDER BY p.pool LIMIT 1`,
    [organizationId, accounts.map(({ pool }) => pool)],
    'busy_pool',
  );
  return busy?.pool ?? null;
}
