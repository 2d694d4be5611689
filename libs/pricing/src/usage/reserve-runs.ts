import { AppError, type MicroUsd, usdOf } from '@muster/contracts';
import { TakeTurn, type Transaction } from '@muster/database';
import {
  canLaunchRuns,
  type GateFacts,
  gateStatement,
  type LimitFacts,
  monthOf,
  readGateFacts,
  requireFacts,
} from './billing-gate';
import { tellLimits, thresholdOf } from './tell-limits';

/** Runs that are to be launched together, and what each of them may cost. */
export interface AskedRuns {
  count: number;
  maxCostMicros: MicroUsd | null;
}

/** Organizations that were found near a limit by this process. What is guessed wrong costs a second look. */
const near = new Set<string>();

/** What an organization's open runs came to a moment ago, as this process counted them, with those that it let in then. */
const counted = new Map<string, Pick<GateFacts, 'openRuns' | 'reservedMicros'> & { until: number }>();
const countedForMs = 200;
/** More launches than all processes together can make durable in that time, batches of 10,000 included. */
const outOfReach = 100_000;

/**
 * Takes the runs out of what the month's limits leave, or throws billing_gate_closed. The jobs themselves are the
 * reservation, until metering knows what they have cost; so nothing that ends, fails to start or is deleted leaves
 * anything behind. Call it before the jobs are written.
 *
 * Far from a limit, launches run side by side under a shared lock of their organization. Near a limit, and for a batch,
 * a launch holds that lock alone, so it counts the runs only once the launch before it is durable. It takes its turn in
 * this process before it opens a transaction: whoever waits for the lock holds a connection, and that is one launch of
 * an organization in each process.
 */
export async function reserveRuns(
  tx: Transaction,
  organizationId: string,
  { asked, limits, now }: { asked: AskedRuns; limits: LimitFacts; now: Date },
): Promise<void> {
  requireOpen(limits);
  if (limits.monthlyRunLimit === null && limits.monthlySpendLimitMicros === null) return;
  if (isOutOfReach(organizationId, asked, limits)) return;
  const lockKey = `launches ${organizationId}`;
  const isAlone = tx.turn === lockKey;
  if (!isAlone && (asked.count > 1 || near.has(organizationId))) throw new TakeTurn(lockKey);
  const facts = await (isAlone ? readAlone : readBeside)(tx, organizationId, { lockKey, now });
  if (!facts) throw new TakeTurn(lockKey);
  if (isFarFromLimits(facts, asked, margin(facts))) near.delete(organizationId);
  else if (!isAlone) {
    near.add(organizationId);
    throw new TakeTurn(lockKey);
  }
  requireRoom(facts, asked);
  const { count, maxCostMicros } = asked;
  const reservedMicros = BigInt(facts.reservedMicros) + BigInt(maxCostMicros ?? 0) * BigInt(count);
  remember(organizationId, { openRuns: facts.openRuns + count, reservedMicros });
  await tellLimits(tx, {
    organizationId,
    month: monthOf(now),
    limits: facts,
    used: {
      runs: facts.runs + facts.openRuns + count,
      spendMicros: BigInt(facts.spendMicros) + reservedMicros,
    },
  });
}

/** The facts while no other launch of the organization is in progress. */
async function readAlone(
  tx: Transaction,
  organizationId: string,
  { lockKey, now }: { lockKey: string; now: Date },
): Promise<GateFacts> {
  tx.defer('SELECT pg_advisory_xact_lock(hashtextextended($1, 1))', [lockKey], 'hold_launches');
  return readGateFacts(tx, organizationId, now);
}

/** The facts beside other launches; null while one of them holds the lock alone. It never waits. */
async function readBeside(
  tx: Transaction,
  organizationId: string,
  { lockKey, now }: { lockKey: string; now: Date },
): Promise<GateFacts | null> {
  const [lock, facts] = (await tx.queryAll([
    {
      text: 'SELECT pg_try_advisory_xact_lock_shared(hashtextextended($1, 1)) AS is_shared',
      values: [lockKey],
      name: 'share_launches',
    },
    gateStatement(organizationId, now),
  ])) as [{ isShared: boolean }[], GateFacts[]];
  return lock[0]!.isShared ? requireFacts(facts[0]) : null;
}

/** The gate is asked for all of them: they are launched together, or not at all. */
function requireRoom(facts: GateFacts, { count, maxCostMicros }: AskedRuns): void {
  requireOpen(facts);
  const { runsLeft, microsLeft } = leftOf(facts);
  if (runsLeft !== null && count > runsLeft) {
    throw closed(`The batch has ${count} runs, and the month's limit of ${facts.monthlyRunLimit} leaves ${runsLeft}.`);
  }
  const micros = BigInt(maxCostMicros ?? 0) * BigInt(count);
  if (microsLeft !== null && microsLeft <= 0n && micros === 0n) {
    const limit = usdOf(facts.monthlySpendLimitMicros!);
    throw closed(`The month's limit of ${limit} USD leaves 0: runs under way hold what they may cost.`);
  }
  if (microsLeft !== null && micros > microsLeft) {
    const left = usdOf(microsLeft < 0n ? 0n : microsLeft);
    throw closed(
      `${count === 1 ? 'The run' : 'The batch'} may cost ${usdOf(micros)} USD, and the month's limit of ` +
        `${usdOf(facts.monthlySpendLimitMicros!)} USD leaves ${left}: runs under way hold what they may cost.`,
    );
  }
}

function requireOpen(facts: LimitFacts): void {
  const { canLaunchRuns: open, reason } = canLaunchRuns(facts);
  if (!open) throw closed(`No run can be launched: ${reason}.`);
}

/** How many launches may be under way in one database that nobody sees yet: one for each connection, twice over. */
const margin = (facts: GateFacts) => 2 * facts.maxConnections;

/** Whether so many times what is asked for is left. */
function isFarFromLimits(
  facts: Parameters<typeof leftOf>[0],
  { count, maxCostMicros }: AskedRuns,
  times: number,
): boolean {
  const micros = BigInt(maxCostMicros ?? 0);
  const most = BigInt(count * times);
  return distancesOf(facts).every(
    // With nothing left of the spend limit, a run without a budget is refused as well.
    ({ runs, spend }) => (runs ?? most) >= most && (spend === null || (spend > 0n && spend >= micros * most)),
  );
}

/** How far it is to each limit, and to where it is told of as near, unless that is behind; null: there is none. */
function distancesOf(facts: Parameters<typeof leftOf>[0]): { runs: bigint | null; spend: bigint | null }[] {
  const { runsLeft, microsLeft } = leftOf(facts);
  const { monthlyRunLimit, monthlySpendLimitMicros } = facts;
  const left = {
    runs: runsLeft === null ? null : BigInt(runsLeft),
    spend: microsLeft,
  };
  const beforeNear = (limit: bigint, ahead: bigint | null): bigint | null => {
    const distance = ahead === null ? null : ahead - (limit - thresholdOf(limit, 'near'));
    return distance === null || distance <= 0n ? null : distance;
  };
  return [
    left,
    {
      runs: beforeNear(BigInt(monthlyRunLimit ?? 0), left.runs),
      spend: beforeNear(BigInt(monthlySpendLimitMicros ?? 0), left.spend),
    },
  ];
}

/** Whether the limits, which are read anew each time, are so far away that what was counted a moment ago will do. */
function isOutOfReach(organizationId: string, asked: AskedRuns, limits: LimitFacts): boolean {
  const known = counted.get(organizationId);
  return !!known && performance.now() < known.until && isFarFromLimits({ ...limits, ...known }, asked, outOfReach);
}

function remember(
  organizationId: string,
  { openRuns, reservedMicros }: Pick<GateFacts, 'openRuns' | 'reservedMicros'>,
) {
  // Few organizations launch within such a moment; what is old goes before there are many.
  if (counted.size >= 10_000) counted.clear();
  counted.set(organizationId, { openRuns, reservedMicros, until: performance.now() + countedForMs });
}

function leftOf(facts: Omit<GateFacts, 'maxConnections'>): { runsLeft: number | null; microsLeft: bigint | null } {
  const { monthlyRunLimit, monthlySpendLimitMicros: limit, runs, openRuns, spendMicros, reservedMicros } = facts;
  return {
    runsLeft: monthlyRunLimit === null ? null : monthlyRunLimit - runs - openRuns,
    microsLeft: limit === null ? null : BigInt(limit) - BigInt(spendMicros) - BigInt(reservedMicros),
  };
}

function closed(detail: string): AppError {
  return new AppError('billing_gate_closed', { detail });
}
