import { type MicroUsd, microsToUsd } from '@muster/contracts';
import {
  type LimitNoticeEntity,
  type OrganizationSettingsEntity,
  recordOrganizationEvent,
  type Transaction,
  type UsageCounterEntity,
} from '@muster/database';
import { emitEvent } from '@muster/webhooks';
import { getBillingMonth } from './billing-gate';

type Limits = Pick<OrganizationSettingsEntity, 'monthlyRunLimit' | 'monthlySpendLimitMicros'>;
type Level = LimitNoticeEntity['level'];

interface Limit {
  limit: LimitNoticeEntity['limitName'];
  /** Value of the limit: a number of runs, or micro-dollars. */
  max: bigint;
}

/** Percentage of use from which a limit is near. */
const nearPercent = 80n;
const levels = ['near', 'reached'] as const;

/** Returns the use from which the limit is near or reached. */
export function computeLimitThreshold(max: bigint, level: Level): bigint {
  // The threshold is rounded up to a whole number of runs or micro-dollars.
  return level === 'reached' ? max : (max * nearPercent + 99n) / 100n;
}

/** Notices that this process knows to be emitted. The table is not checked again for them. */
const emitted = new Set<string>();
const maxEmitted = 100_000;

interface UsedOfLimits {
  runs: number;
  spendMicros: MicroUsd | bigint;
}

/**
 * Emits a webhook event for each monthly limit that is near (80 %) or reached, and one event on the organization's
 * stream for the highest new level. `limit_notice` has one row per month, limit, level and limit value, so each event
 * is emitted once. Concurrent transactions wait on its unique key.
 */
export async function emitLimitNotices(
  tx: Transaction,
  {
    organizationId,
    month,
    limits,
    used,
  }: { organizationId: string; month: string; limits: Limits; used: UsedOfLimits },
): Promise<void> {
  for (const limit of listMonthlyLimits(limits)) {
    const use = getUsedAmount(limit, used);
    const reached = levels.filter((level) => use >= computeLimitThreshold(limit.max, level));
    for (const level of reached) {
      if (!(await insertLimitNotice(tx, { organizationId, month, level, ...limit }))) continue;
      emitWebhookEvent(tx, { organizationId, month, level, ...limit }, use);
      // If both levels are reached together, the stream gets only the higher level.
      if (level === reached.at(-1)) emitStreamEvent(tx, { organizationId, level, ...limit });
    }
  }
}

/**
 * Emits the notices for a run or a model call whose cost this transaction books. `before` is the counter before the
 * booking. The counter is read again only if this booking and concurrent ones may together have passed a threshold.
 */
export async function emitLimitNoticesAfterBooking(
  tx: Transaction,
  { organizationId, finishedAt, before, addedMicros, ...limits }: Booking & Limits,
): Promise<void> {
  const month = getBillingMonth(finishedAt);
  const upperBound = {
    runs: Number(before.runs) + concurrentRuns,
    spendMicros: ((BigInt(before.spendMicros) + BigInt(addedMicros)) * concurrentSpendPercent) / 100n,
  };
  const isPossible = listMonthlyLimits(limits).some((limit) =>
    levels.some(
      (level) =>
        getUsedAmount(limit, upperBound) >= computeLimitThreshold(limit.max, level) &&
        !emitted.has(getNoticeKey({ organizationId, month, level, ...limit })),
    ),
  );
  if (!isPossible) return;
  const [used] = await tx.query<Pick<UsageCounterEntity, 'runs' | 'spendMicros'>>(
    'SELECT runs, spend_micros FROM usage_counter WHERE organization_id = $1 AND month = $2',
    [organizationId, month],
    'read_counter',
  );
  if (used) await emitLimitNotices(tx, { organizationId, month, limits, used });
}

interface Booking {
  organizationId: string;
  finishedAt: Date;
  before: UsedOfLimits;
  addedMicros: MicroUsd | bigint;
}

/** Upper bounds for concurrent bookings: their runs, and the spend with them in percent of the spend without them. */
const concurrentRuns = 1000;
const concurrentSpendPercent = 125n;

function listMonthlyLimits({ monthlyRunLimit, monthlySpendLimitMicros }: Limits): Limit[] {
  return [
    ...(monthlyRunLimit === null ? [] : [{ limit: 'monthlyRunLimit' as const, max: BigInt(monthlyRunLimit) }]),
    ...(monthlySpendLimitMicros === null
      ? []
      : [{ limit: 'monthlySpendLimitUsd' as const, max: BigInt(monthlySpendLimitMicros) }]),
  ];
}

function getUsedAmount({ limit }: Limit, { runs, spendMicros }: UsedOfLimits): bigint {
  return BigInt(limit === 'monthlyRunLimit' ? runs : spendMicros);
}

type Notice = Limit & { organizationId: string; month: string; level: Level };

/** Inserts the notice. Returns true if no transaction has emitted it before, so that the caller must emit it. */
async function insertLimitNotice(tx: Transaction, notice: Notice): Promise<boolean> {
  const key = getNoticeKey(notice);
  if (emitted.has(key)) return false;
  const { organizationId, month, limit, level, max } = notice;
  const written = await tx.execute(
    `INSERT INTO limit_notice (organization_id, month, limit_name, level, max) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING`,
    [organizationId, month, limit, level, String(max)],
    'limit_notice',
  );
  if (written > 0) tx.onCommit(() => rememberLimitNotice(key));
  else rememberLimitNotice(key);
  return written > 0;
}

function rememberLimitNotice(key: string): void {
  if (emitted.size >= maxEmitted) emitted.clear();
  emitted.add(key);
}

function getNoticeKey({ organizationId, month, limit, level, max }: Notice): string {
  return `${organizationId} ${month} ${limit} ${level} ${max}`;
}

function emitWebhookEvent(tx: Transaction, { organizationId, limit, level, max }: Notice, used: bigint): void {
  const presentAmount = (amount: bigint) => (limit === 'monthlyRunLimit' ? Number(amount) : microsToUsd(amount));
  const details = { limit, used: presentAmount(used), max: presentAmount(max) };
  emitEvent(tx, { organizationId, type: `limit.${level}`, subjects: [{ id: organizationId, details }] });
}

function emitStreamEvent(tx: Transaction, { organizationId, limit, level }: Omit<Notice, 'month'>): void {
  const percent = level === 'reached' ? 100 : Number(nearPercent);
  recordOrganizationEvent(tx, { organizationId, type: 'limit', data: { limit, percent } });
}
