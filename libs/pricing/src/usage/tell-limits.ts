import { type MicroUsd, usdOf } from '@muster/contracts';
import {
  type LimitNoticeEntity,
  type OrganizationSettingsEntity,
  tellOrganization,
  type Transaction,
  type UsageCounterEntity,
} from '@muster/database';
import { emitEvent } from '@muster/webhooks';
import { monthOf } from './billing-gate';

type Limits = Pick<OrganizationSettingsEntity, 'monthlyRunLimit' | 'monthlySpendLimitMicros'>;
type Level = LimitNoticeEntity['level'];

interface Limit {
  limit: LimitNoticeEntity['limitName'];
  /** Runs, or micro-dollars. */
  max: bigint;
}

/** With its use at so many percent a limit is near. */
const nearPercent = 80n;
const levels = ['near', 'reached'] as const;

/** From which use on a limit is near, or reached. */
export function thresholdOf(max: bigint, level: Level): bigint {
  // The least whole number that is so much.
  return level === 'reached' ? max : (max * nearPercent + 99n) / 100n;
}

/** Of which limits an organization was told, as far as this process knows: nobody looks again. */
const told = new Set<string>();
const mostTold = 100_000;

interface UsedOfLimits {
  runs: number;
  spendMicros: MicroUsd | bigint;
}

/**
 * Tells of the limits that are near or used up, each once in its month: whoever follows the organization, and its webhook
 * endpoints. Who looks at the same moment waits for the one that tells.
 */
export async function tellLimits(
  tx: Transaction,
  {
    organizationId,
    month,
    limits,
    used,
  }: { organizationId: string; month: string; limits: Limits; used: UsedOfLimits },
): Promise<void> {
  for (const limit of limitsIn(limits)) {
    const of = usedOf(limit, used);
    const reached = levels.filter((level) => of >= thresholdOf(limit.max, level));
    for (const level of reached) {
      if (!(await isFirst(tx, { organizationId, month, level, ...limit }))) continue;
      tell(tx, { organizationId, month, level, ...limit }, of);
      // To who looks at it the greater word is enough, where both come true together.
      if (level === reached.at(-1)) show(tx, { organizationId, level, ...limit });
    }
  }
}

/**
 * As tellLimits, for a run or a call whose cost this transaction books. The counter is asked once it may have come so
 * far: `before` is what it was, and others may be booking at the same time.
 */
export async function tellSettledLimits(
  tx: Transaction,
  { organizationId, finishedAt, before, addedMicros, ...limits }: Settled & Limits,
): Promise<void> {
  const month = monthOf(finishedAt);
  const perhaps = {
    runs: Number(before.runs) + runsAtOnce,
    spendMicros: ((BigInt(before.spendMicros) + BigInt(addedMicros)) * spendAtOncePercent) / 100n,
  };
  const isPossible = limitsIn(limits).some((limit) =>
    levels.some(
      (level) =>
        usedOf(limit, perhaps) >= thresholdOf(limit.max, level) &&
        !told.has(keyOf({ organizationId, month, level, ...limit })),
    ),
  );
  if (!isPossible) return;
  const [used] = await tx.query<Pick<UsageCounterEntity, 'runs' | 'spendMicros'>>(
    'SELECT runs, spend_micros FROM usage_counter WHERE organization_id = $1 AND month = $2',
    [organizationId, month],
    'read_counter',
  );
  if (used) await tellLimits(tx, { organizationId, month, limits, used });
}

interface Settled {
  organizationId: string;
  finishedAt: Date;
  before: UsedOfLimits;
  addedMicros: MicroUsd | bigint;
}

/** More than are booked at the same moment. */
const runsAtOnce = 1000;
const spendAtOncePercent = 125n;

function limitsIn({ monthlyRunLimit, monthlySpendLimitMicros }: Limits): Limit[] {
  return [
    ...(monthlyRunLimit === null ? [] : [{ limit: 'monthlyRunLimit' as const, max: BigInt(monthlyRunLimit) }]),
    ...(monthlySpendLimitMicros === null
      ? []
      : [{ limit: 'monthlySpendLimitUsd' as const, max: BigInt(monthlySpendLimitMicros) }]),
  ];
}

function usedOf({ limit }: Limit, { runs, spendMicros }: UsedOfLimits): bigint {
  return BigInt(limit === 'monthlyRunLimit' ? runs : spendMicros);
}

type Notice = Limit & { organizationId: string; month: string; level: Level };

/** Whether nobody has told of it: this transaction is to, and with its commit has. */
async function isFirst(tx: Transaction, notice: Notice): Promise<boolean> {
  const key = keyOf(notice);
  if (told.has(key)) return false;
  const { organizationId, month, limit, level, max } = notice;
  const written = await tx.execute(
    `INSERT INTO limit_notice (organization_id, month, limit_name, level, max) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING`,
    [organizationId, month, limit, level, String(max)],
    'limit_notice',
  );
  if (written > 0) tx.onCommit(() => remember(key));
  else remember(key);
  return written > 0;
}

function remember(key: string): void {
  if (told.size >= mostTold) told.clear();
  told.add(key);
}

function keyOf({ organizationId, month, limit, level, max }: Notice): string {
  return `${organizationId} ${month} ${limit} ${level} ${max}`;
}

function tell(tx: Transaction, { organizationId, limit, level, max }: Notice, used: bigint): void {
  const shown = (amount: bigint) => (limit === 'monthlyRunLimit' ? Number(amount) : usdOf(amount));
  const details = { limit, used: shown(used), max: shown(max) };
  emitEvent(tx, { organizationId, type: `limit.${level}`, subjects: [{ id: organizationId, details }] });
}

function show(tx: Transaction, { organizationId, limit, level }: Omit<Notice, 'month'>): void {
  const percent = level === 'reached' ? 100 : Number(nearPercent);
  tellOrganization(tx, { organizationId, type: 'limit', data: { limit, percent } });
}
