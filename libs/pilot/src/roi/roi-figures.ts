import {
  unitsToDecimal,
  type MicroUsd,
  type Roi,
  divideRoundingHalfEven,
  type RoiSource,
  sumMoney,
  microsToUsd,
} from '@muster/contracts';
import type { OrganizationSettingsEntity } from '@muster/database';
import { listDaysOfRange, type RoiRange } from './roi-range';

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
  /** Time for which the jobs waited for people. It is not processing time. */
  waitingMicros: number | bigint;
}

/** Percentiles in twentieths of a microsecond, so that interpolated values are whole numbers. */
export interface Percentiles {
  p50: bigint;
  p95: bigint;
}

export type RoiSettings = Pick<OrganizationSettingsEntity, 'minutesSavedPerClaim' | 'laborMicrosPerHour'>;

/** Computes the figures of a range from the totals of its days. Each figure is exact and rounded once, at the end. */
export function computeRoiFigures(
  { range, source, settings }: { range: RoiRange; source: RoiSource; settings: RoiSettings },
  sums: DaySums[],
  percentiles: Percentiles | null,
): Roi {
  const labor = createLaborCalculator(settings);
  const byDay = new Map(sums.map((each) => [each.day, each]));
  const days = listDaysOfRange(range).map((day) => {
    const sumsOfDay = byDay.get(day) ?? { ...nothing, day };
    const laborMicros = labor(sumsOfDay.eobUploaded + sumsOfDay.noEobFound);
    return { ...sumsOfDay, laborMicros, netMicros: laborMicros - BigInt(sumsOfDay.costMicros) };
  });
  const sumOverDays = (key: 'batches' | 'jobs' | 'attempted' | 'eobUploaded' | 'noEobFound' | 'failed' | 'timed') =>
    days.reduce((sum, each) => sum + each[key], 0);
  const claims = presentClaimCounts({
    attempted: sumOverDays('attempted'),
    eobUploaded: sumOverDays('eobUploaded'),
    noEobFound: sumOverDays('noEobFound'),
    failed: sumOverDays('failed'),
  });
  const processing = subtractWaitingTime(
    sumMoney(days.map(({ processingMicros }) => processingMicros)),
    sumMoney(days.map(({ waitingMicros }) => waitingMicros)),
  );
  const compute = sumMoney(days.map(({ costMicros }) => costMicros));
  const laborMicros = sumMoney(days.map((each) => each.laborMicros));
  const net = laborMicros - compute;
  const saved = BigInt(claims.eobUploaded + claims.noEobFound);
  const minutes = toExactFraction(settings.minutesSavedPerClaim);
  return {
    source,
    from: range.from,
    to: range.to,
    batches: sumOverDays('batches'),
    jobs: sumOverDays('jobs'),
    claims: { ...claims, perHour: divideToFourDecimals(BigInt(claims.attempted) * 3_600_000_000n, processing) },
    processing: {
      totalSeconds: partsToSeconds(processing, 1n),
      averageSeconds: divideToFourDecimals(processing, BigInt(sumOverDays('timed')) * 1_000_000n),
      p50Seconds: percentiles && partsToSeconds(percentiles.p50, 20n),
      p95Seconds: percentiles && partsToSeconds(percentiles.p95, 20n),
    },
    cost: {
      computeUsd: microsToUsd(compute),
      perClaimUsd:
        claims.attempted === 0 ? null : microsToUsd(divideRoundingHalfEven(compute, BigInt(claims.attempted))),
    },
    savings: {
      minutesPerClaim: settings.minutesSavedPerClaim,
      hoursSaved: divideToFourDecimals(saved * minutes.numerator, minutes.denominator * 60n)!,
      laborUsd: microsToUsd(laborMicros),
      netUsd: microsToUsd(net),
      roiPercent: divideToFourDecimals(net * 100n, compute),
    },
    daily: days.map((each) => ({
      date: each.day,
      claims: presentClaimCounts(each),
      processingSeconds: partsToSeconds(
        subtractWaitingTime(BigInt(each.processingMicros), BigInt(each.waitingMicros)),
        1n,
      ),
      computeUsd: microsToUsd(each.costMicros),
      laborUsd: microsToUsd(each.laborMicros),
      netUsd: microsToUsd(each.netMicros),
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
  waitingMicros: 0,
};

/** A claim without a processing time can belong to a job that waited, so the difference may be negative. */
function subtractWaitingTime(claims: bigint, waiting: bigint): bigint {
  return claims > waiting ? claims - waiting : 0n;
}

function presentClaimCounts({
  attempted,
  eobUploaded,
  noEobFound,
  failed,
}: Pick<DaySums, 'attempted' | 'eobUploaded' | 'noEobFound' | 'failed'>) {
  return { attempted, eobUploaded, noEobFound, failed };
}

/** Returns a function that computes the labor cost saved by a number of claims, rounded once. */
function createLaborCalculator({ minutesSavedPerClaim, laborMicrosPerHour }: RoiSettings): (claims: number) => bigint {
  const { numerator, denominator } = toExactFraction(minutesSavedPerClaim);
  return (claims) => divideRoundingHalfEven(BigInt(claims) * numerator * BigInt(laborMicrosPerHour), denominator * 60n);
}

/** Converts a number to the exact fraction of its decimal notation. */
function toExactFraction(value: number): { numerator: bigint; denominator: bigint } {
  const [digits, exponent = '0'] = String(value).split('e') as [string, string?];
  const [whole, fraction = ''] = digits.split('.') as [string, string?];
  const shift = fraction.length - Number(exponent);
  const numerator = BigInt(whole + fraction);
  return shift >= 0
    ? { numerator, denominator: 10n ** BigInt(shift) }
    : { numerator: numerator * 10n ** BigInt(-shift), denominator: 1n };
}

/** Divides and rounds to four decimals; null if the denominator is 0. */
function divideToFourDecimals(numerator: bigint, denominator: bigint): number | null {
  return denominator === 0n ? null : unitsToDecimal(divideRoundingHalfEven(numerator * 10_000n, denominator), 4);
}

/** Converts parts of a microsecond to seconds, rounded to four decimals. */
function partsToSeconds(parts: bigint, partsInMicrosecond: bigint): number {
  return unitsToDecimal(divideRoundingHalfEven(parts * 10_000n, partsInMicrosecond * 1_000_000n), 4);
}
