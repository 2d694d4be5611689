import { type Actor, audit } from '@muster/access';
import { type UsageDifference, type UsageReconciliation, microsToUsd } from '@muster/contracts';
import type { Database, Transaction, UsageReconciliationEntity } from '@muster/database';
import { newId } from '@muster/platform';
import { type CounterFault, type CounterFigures, findUnequalCounters } from './find-unequal-counters';

/** Number of organizations that one statement compares. */
const batchSize = 200;
/** Maximum number of differences that are stored. All are counted, and each gets an audit entry of its organization. */
const maxStoredDifferences = 200;
/**
 * Hour in UTC at which the nightly comparison becomes due. At this hour, practices in America are closed and few runs
 * end.
 */
const nightHour = 9;

/** Compares every counter with its events. Stores and audits the differences, and does not correct them. */
export async function reconcileUsage(
  database: Database,
  now: Date,
  id: string = newId(),
): Promise<UsageReconciliation> {
  const faults: CounterFault[] = [];
  let organizations = 0;
  for (let after: string | null = null; ;) {
    const ids = await findNextOrganizations(database, after);
    if (ids.length === 0) break;
    organizations += ids.length;
    faults.push(...(await findUnequalCounters(database, ids)));
    after = ids.at(-1)!;
  }
  const differences = faults.slice(0, maxStoredDifferences).map(presentCounterFault);
  await database.transaction('system', async (tx) => {
    for (const fault of faults) auditCounterFault(tx, fault);
    await tx.execute(
      `INSERT INTO usage_reconciliation (id, began_at, finished_at, organizations, differing, differences)
       VALUES ($1, $2, muster_now(), $3, $4, $5)
       ON CONFLICT (id) DO UPDATE SET finished_at = muster_now(), organizations = excluded.organizations,
         differing = excluded.differing, differences = excluded.differences`,
      [id, now, organizations, faults.length, JSON.stringify(differences)],
    );
  });
  return { reconciledAt: now.toISOString(), organizations, differing: faults.length, differences };
}

/** Runs last night's comparison if no other process has run or claimed it. Returns null if one has. */
export async function reconcileUsageNightly(database: Database, now: Date): Promise<UsageReconciliation | null> {
  const night = new Date(now.getTime() - nightHour * 3_600_000).toISOString().slice(0, 10);
  const [claimed] = await database.query<Pick<UsageReconciliationEntity, 'id'>>(
    'system',
    `INSERT INTO usage_reconciliation AS r (id, night, began_at) VALUES ($1, $2, $3)
     -- A process that has not finished its comparison after an hour has ended; another process takes over.
     ON CONFLICT (night) DO UPDATE SET began_at = excluded.began_at
     WHERE r.finished_at IS NULL AND r.began_at < excluded.began_at - interval '1 hour'
     RETURNING id`,
    [newId(), night, now],
  );
  return claimed ? reconcileUsage(database, now, claimed.id) : null;
}

/** Returns the result of the last finished comparison. */
export async function readLastReconciliation(database: Database): Promise<UsageReconciliation> {
  const [last] = await database.query<
    Pick<UsageReconciliationEntity, 'organizations' | 'differing'> & { beganAt: Date; differences: UsageDifference[] }
  >(
    'system',
    `SELECT began_at, organizations, differing, differences FROM usage_reconciliation
     WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1`,
  );
  if (!last) return { reconciledAt: null, organizations: 0, differing: 0, differences: [] };
  const { beganAt, ...found } = last;
  return { reconciledAt: beganAt.toISOString(), ...found };
}

async function findNextOrganizations(database: Database, after: string | null): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'system',
    'SELECT id FROM organization WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2',
    [after, batchSize],
  );
  return rows.map(({ id }) => id);
}

function auditCounterFault(tx: Transaction, fault: CounterFault): void {
  const { organizationId, month } = fault;
  const { counted, events } = presentCounterFault(fault);
  const actor: Actor = { kind: 'system', id: 'usage reconciliation', organizationId };
  audit(tx, actor, {
    action: 'usage.difference',
    target: { type: 'usage_counter', id: month },
    changes: { counted, events },
  });
}

function presentCounterFault({ organizationId, month, counted, events }: CounterFault): UsageDifference {
  return { organizationId, month, counted: presentUsageFigures(counted), events: presentUsageFigures(events) };
}

export function presentUsageFigures({ runMs, spendMicros, ...counts }: CounterFigures) {
  return { ...counts, runMinutes: runMs / 60_000, spendUsd: microsToUsd(spendMicros) };
}
