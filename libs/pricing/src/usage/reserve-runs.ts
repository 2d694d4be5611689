import { AppError, type MicroUsd, microsToUsd } from '@muster/contracts';
import { TakeTurn, type Transaction } from '@muster/database';
import {
  decideBillingGate,
  type GateFacts,
  buildGateStatement,
  type LimitFacts,
  getBillingMonth,
  readGateFacts,
  requireLimitFacts,
} from './billing-gate';
import { emitLimitNotices, computeLimitThreshold } from './emit-limit-notices';

/** Number of runs to launch together, and the maximum cost of each. */
export interface RequestedRuns {
  count: number;
  maxCostMicros: MicroUsd | null;
}

/** Organizations that this process found near a limit. An outdated entry costs one additional check. */
const near = new Set<string>();

/**
 * Recent counts of open runs by organization: the count that this process read, plus the runs that it then admitted.
 */
const recentCounts = new Map<string, Pick<GateFacts, 'openRuns' | 'reservedMicros'> & { until: number }>();
const countedForMs = 200;
/**
 * If a request fits into the limits this number of times, a count of open runs that is up to `countedForMs` old is
 * sufficient. All processes together cannot launch this number of runs in that time, even in batches of 10,000.
 */
const outOfReach = 100_000;

/**
 * Reserves the runs within the month's limits, or throws billing_gate_closed. The jobs themselves are the reservation
 * until metering has booked their cost, so a job that ends, fails to start or is deleted leaves no reservation behind.
 * Call this before the jobs are inserted.
 *
 * Far from a limit, launches run concurrently under a shared lock of their organization. Near a limit, and for a batch,
 * a launch holds the lock exclusively, so it counts the runs only after the previous launch is durable. It waits for
 * its turn in this process before it opens a transaction, because a launch that waits for the lock holds a connection.
 * So at most one launch of an organization waits for the lock in each process.
 */
export async function reserveRuns(
  tx: Transaction,
  organizationId: string,
  { requested, limits, now }: { requested: RequestedRuns; limits: LimitFacts; now: Date },
): Promise<void> {
  requireOpenGate(limits);
  if (limits.monthlyRunLimit === null && limits.monthlySpendLimitMicros === null) return;
  if (isFarByLastCount(organizationId, requested, limits)) return;
  // The transaction must not be shared: the count below sees the launches of other transactions only after their
  // commit.
  tx.requireOwnConnection();
  const lockKey = `launches ${organizationId}`;
  const isExclusive = tx.turn === lockKey;
  if (!isExclusive && (requested.count > 1 || near.has(organizationId))) throw new TakeTurn(lockKey);
  const facts = await (isExclusive ? readFactsUnderExclusiveLock : readFactsUnderSharedLock)(tx, organizationId, {
    lockKey,
    now,
  });
  if (!facts) throw new TakeTurn(lockKey);
  if (isFarFromLimits(facts, requested, computeInvisibleLaunches(facts))) near.delete(organizationId);
  else if (!isExclusive) {
    near.add(organizationId);
    throw new TakeTurn(lockKey);
  }
  requireLimitRoom(facts, requested);
  const { count, maxCostMicros } = requested;
  const reservedMicros = BigInt(facts.reservedMicros) + BigInt(maxCostMicros ?? 0) * BigInt(count);
  rememberLastCount(organizationId, { openRuns: facts.openRuns + count, reservedMicros });
  await emitLimitNotices(tx, {
    organizationId,
    month: getBillingMonth(now),
    limits: facts,
    used: {
      runs: facts.runs + facts.openRuns + count,
      spendMicros: BigInt(facts.spendMicros) + reservedMicros,
    },
  });
}

/** Reads the facts under the exclusive lock, so that no other launch of the organization is in progress. */
async function readFactsUnderExclusiveLock(
  tx: Transaction,
  organizationId: string,
  { lockKey, now }: { lockKey: string; now: Date },
): Promise<GateFacts> {
  tx.deferStatement('SELECT pg_advisory_xact_lock(hashtextextended($1, 1))', [lockKey], 'hold_launches');
  return readGateFacts(tx, organizationId, now);
}

/** Reads the facts under the shared lock, without waiting. Null if another launch holds the lock exclusively. */
async function readFactsUnderSharedLock(
  tx: Transaction,
  organizationId: string,
  { lockKey, now }: { lockKey: string; now: Date },
): Promise<GateFacts | null> {
  const [lock, facts] = (await tx.queryStatements([
    {
      text: 'SELECT pg_try_advisory_xact_lock_shared(hashtextextended($1, 1)) AS is_shared',
      values: [lockKey],
      name: 'share_launches',
    },
    buildGateStatement(organizationId, now),
  ])) as [{ isShared: boolean }[], GateFacts[]];
  return lock[0]!.isShared ? requireLimitFacts(facts[0]) : null;
}

/**
 * Throws billing_gate_closed unless all requested runs fit into the limits; they are launched together or not at all.
 */
function requireLimitRoom(facts: GateFacts, { count, maxCostMicros }: RequestedRuns): void {
  requireOpenGate(facts);
  const { runsLeft, microsLeft } = computeRemainingLimits(facts);
  if (runsLeft !== null && count > runsLeft) {
    throw gateClosedError(
      `The batch has ${count} runs, but only ${runsLeft} of the monthly limit of ${facts.monthlyRunLimit} runs are left. Launch fewer runs, or ask an admin to raise the limit.`,
    );
  }
  const micros = BigInt(maxCostMicros ?? 0) * BigInt(count);
  if (microsLeft !== null && microsLeft <= 0n && micros === 0n) {
    const limit = microsToUsd(facts.monthlySpendLimitMicros!);
    throw gateClosedError(
      `Nothing is left of the monthly limit of ${limit} USD: it is spent or reserved for open runs. Wait until runs have ended, or ask an admin to raise the limit.`,
    );
  }
  if (microsLeft !== null && micros > microsLeft) {
    const left = microsToUsd(microsLeft < 0n ? 0n : microsLeft);
    throw gateClosedError(
      `${count === 1 ? 'The run' : 'The batch'} can cost ${microsToUsd(micros)} USD, and the monthly limit of ` +
        `${microsToUsd(facts.monthlySpendLimitMicros!)} USD leaves ${left}: the rest is spent or reserved for open runs.`,
    );
  }
}

function requireOpenGate(facts: LimitFacts): void {
  const { canLaunchRuns: open, reason } = decideBillingGate(facts);
  if (!open) throw gateClosedError(`No run can be launched: ${reason}.`);
}

/**
 * Maximum number of launches whose jobs other transactions do not see yet: one for each connection, doubled for safety.
 */
const computeInvisibleLaunches = (facts: GateFacts) => 2 * facts.maxConnections;

/** Whether as many as `times` such requests fit into the limits and stay below the thresholds of their notices. */
function isFarFromLimits(
  facts: Parameters<typeof computeRemainingLimits>[0],
  { count, maxCostMicros }: RequestedRuns,
  times: number,
): boolean {
  const micros = BigInt(maxCostMicros ?? 0);
  const runsNeeded = BigInt(count * times);
  return computeLimitDistances(facts).every(
    // If nothing is left of the spend limit, a run without a maximum cost is refused too.
    ({ runs, spend }) =>
      (runs ?? runsNeeded) >= runsNeeded && (spend === null || (spend > 0n && spend >= micros * runsNeeded)),
  );
}

/**
 * Returns how much is left until each limit, and until the `near` threshold of each limit. Null if there is no limit,
 * or the threshold is passed.
 */
function computeLimitDistances(
  facts: Parameters<typeof computeRemainingLimits>[0],
): { runs: bigint | null; spend: bigint | null }[] {
  const { runsLeft, microsLeft } = computeRemainingLimits(facts);
  const { monthlyRunLimit, monthlySpendLimitMicros } = facts;
  const left = {
    runs: runsLeft === null ? null : BigInt(runsLeft),
    spend: microsLeft,
  };
  const distanceToNear = (limit: bigint, ahead: bigint | null): bigint | null => {
    const distance = ahead === null ? null : ahead - (limit - computeLimitThreshold(limit, 'near'));
    return distance === null || distance <= 0n ? null : distance;
  };
  return [
    left,
    {
      runs: distanceToNear(BigInt(monthlyRunLimit ?? 0), left.runs),
      spend: distanceToNear(BigInt(monthlySpendLimitMicros ?? 0), left.spend),
    },
  ];
}

/** Whether the open runs are so far below the limits that a slightly old count of them is accurate enough. */
function isFarByLastCount(organizationId: string, requested: RequestedRuns, limits: LimitFacts): boolean {
  const recent = recentCounts.get(organizationId);
  return (
    !!recent && performance.now() < recent.until && isFarFromLimits({ ...limits, ...recent }, requested, outOfReach)
  );
}

function rememberLastCount(
  organizationId: string,
  { openRuns, reservedMicros }: Pick<GateFacts, 'openRuns' | 'reservedMicros'>,
) {
  // Few organizations launch within `countedForMs`. Clearing the map bounds its size.
  if (recentCounts.size >= 10_000) recentCounts.clear();
  recentCounts.set(organizationId, { openRuns, reservedMicros, until: performance.now() + countedForMs });
}

function computeRemainingLimits(facts: Omit<GateFacts, 'maxConnections'>): {
  runsLeft: number | null;
  microsLeft: bigint | null;
} {
  const { monthlyRunLimit, monthlySpendLimitMicros: limit, runs, openRuns, spendMicros, reservedMicros } = facts;
  return {
    runsLeft: monthlyRunLimit === null ? null : monthlyRunLimit - runs - openRuns,
    microsLeft: limit === null ? null : BigInt(limit) - BigInt(spendMicros) - BigInt(reservedMicros),
  };
}

function gateClosedError(detail: string): AppError {
  return new AppError('billing_gate_closed', { detail });
}
