import {
  decimalOf,
  type MicroUsd,
  type Roi,
  roundedQuotient,
  type RoiSource,
  sumOfMoney,
  usdOf,
} from '@muster/contracts';
import type { OrganizationSettingsEntity } from '@muster/database';
import { daysOf, type RoiRange } from './roi-range';

/** Totals of a day's batches. */
export interface DaySums {
  day: string;
  batches: number;
  attempted: number;
  eobUploaded: number;
  noEobFound: number;
  failed: number;
  timed: number;
  processingMicros: number | bigint;
  jobs: number;
  costMicros: MicroUsd;
}

/** Percentiles in twentieths of a microsecond, in which both are whole numbers. */
export interface Percentiles {
  p50: bigint;
  p95: bigint;
}

export type RoiSettings = Pick<OrganizationSettingsEntity, 'minutesSavedPerClaim' | 'laborMicrosPerHour'>;

/** Computes the figures of a range from the totals of its days. Each figure is exact and rounded once, at the end. */
export function roiFigures(
  { range, source, settings }: { range: RoiRange; source: RoiSource; settings: RoiSettings },
  sums: DaySums[],
  percentiles: Percentiles | null,
): Roi {
  const labor = laborOf(settings);
  const byDay = new Map(sums.map((each) => [each.day, each]));
  const days = daysOf(range).map((day) => {
    const sumsOfDay = byDay.get(day) ?? { ...nothing, day };
    const laborMicros = labor(sumsOfDay.eobUploaded + sumsOfDay.noEobFound);
    return { ...sumsOfDay, laborMicros, netMicros: laborMicros - BigInt(sumsOfDay.costMicros) };
  });
  const count = (key: 'batches' | 'jobs' | 'attempted' | 'eobUploaded' | 'noEobFound' | 'failed' | 'timed') =>
    days.reduce((sum, each) => sum + each[key], 0);
  const claims = claimsOf({
    attempted: count('attempted'),
    eobUploaded: count('eobUploaded'),
    noEobFound: count('noEobFound'),
    failed: count('failed'),
  });
  const processing = sumOfMoney(days.map(({ processingMicros }) => processingMicros));
  const compute = sumOfMoney(days.map(({ costMicros }) => costMicros));
  const laborMicros = sumOfMoney(days.map((each) => each.laborMicros));
  const net = laborMicros - compute;
  const saved = BigInt(claims.eobUploaded + claims.noEobFound);
  const minutes = rationalOf(settings.minutesSavedPerClaim);
  return {
    source,
    from: range.from,
    to: range.to,
    batches: count('batches'),
    jobs: count('jobs'),
    claims: { ...claims, perHour: roundedRatio(BigInt(claims.attempted) * 3_600_000_000n, processing) },
    processing: {
      totalSeconds: seconds(processing, 1n),
      averageSeconds: roundedRatio(processing, BigInt(count('timed')) * 1_000_000n),
      p50Seconds: percentiles && seconds(percentiles.p50, 20n),
      p95Seconds: percentiles && seconds(percentiles.p95, 20n),
    },
    cost: {
      computeUsd: usdOf(compute),
      perClaimUsd: claims.attempted === 0 ? null : usdOf(roundedQuotient(compute, BigInt(claims.attempted))),
    },
    savings: {
      minutesPerClaim: settings.minutesSavedPerClaim,
      hoursSaved: roundedRatio(saved * minutes.numerator, minutes.denominator * 60n)!,
      laborUsd: usdOf(laborMicros),
      netUsd: usdOf(net),
      roiPercent: roundedRatio(net * 100n, compute),
    },
    daily: days.map((each) => ({
      date: each.day,
      claims: claimsOf(each),
      processingSeconds: seconds(BigInt(each.processingMicros), 1n),
      computeUsd: usdOf(each.costMicros),
      laborUsd: usdOf(each.laborMicros),
      netUsd: usdOf(each.netMicros),
    })),
  };
}

const nothing: Omit<DaySums, 'day'> = {
  batches: 0,
  attempted: 0,
  eobUploaded: 0,
  noEobFound: 0,
  failed: 0,
  timed: 0,
  processingMicros: 0,
  jobs: 0,
  costMicros: 0,
};

function claimsOf({
  attempted,
  eobUploaded,
  noEobFound,
  failed,
}: Pick<DaySums, 'attempted' | 'eobUploaded' | 'noEobFound' | 'failed'>) {
  return { attempted, eobUploaded, noEobFound, failed };
}

/** Returns a function that computes the labor cost saved by a number of claims, rounded once. */
function laborOf({ minutesSavedPerClaim, laborMicrosPerHour }: RoiSettings): (claims: number) => bigint {
  const { numerator, denominator } = rationalOf(minutesSavedPerClaim);
  return (claims) => roundedQuotient(BigInt(claims) * numerator * BigInt(laborMicrosPerHour), denominator * 60n);
}

/** Converts a number to the exact fraction of its decimal notation. */
function rationalOf(value: number): { numerator: bigint; denominator: bigint } {
  const [digits, exponent = '0'] = String(value).split('e') as [string, string?];
  const [whole, fraction = ''] = digits.split('.') as [string, string?];
  const shift = fraction.length - Number(exponent);
  const numerator = BigInt(whole + fraction);
  return shift >= 0
    ? { numerator, denominator: 10n ** BigInt(shift) }
    : { numerator: numerator * 10n ** BigInt(-shift), denominator: 1n };
}

/** Divides and rounds to four decimals; null if the denominator is 0. */
function roundedRatio(numerator: bigint, denominator: bigint): number | null {
  return denominator === 0n ? null : decimalOf(roundedQuotient(numerator * 10_000n, denominator), 4);
}

/** Converts parts of a microsecond to seconds, rounded to four decimals. */
function seconds(parts: bigint, partsInMicrosecond: bigint): number {
  return decimalOf(roundedQuotient(parts * 10_000n, partsInMicrosecond * 1_000_000n), 4);
}
