/**
 * An amount of money in whole micro-dollars: a millionth of a USD. Rows bring a number where that is exact and a bigint
 * where it would not be, so two amounts cannot be added with `+`: what is added, rounded or shown goes through here.
 */
export type MicroUsd = number | bigint;

/** What one amount may be that somebody sends: below 2^53 micro-dollars, so that a number holds it. */
const maxSentUsd = Number.MAX_SAFE_INTEGER / 1_000_000;

/** The amount that a number of USD says, rounded half to even. As its decimals are written: 0.0000005 is half of one. */
export function microsOf(usd: number): bigint {
  if (!Number.isFinite(usd) || Math.abs(usd) > maxSentUsd) throw new RangeError(`${usd} USD is no amount of money`);
  const [digits, exponent = '0'] = String(usd).split('e') as [string, string?];
  const [whole, fraction = ''] = digits.split('.') as [string, string?];
  const scaled = BigInt(whole + fraction);
  const shift = 6 - fraction.length + Number(exponent);
  return shift >= 0 ? scaled * 10n ** BigInt(shift) : roundedQuotient(scaled, 10n ** BigInt(-shift));
}

/** As microsOf; null, for no limit, and undefined, for what was not said, stay what they are. */
export function microsOrNot<T extends null | undefined>(usd: number | T): bigint | T {
  return typeof usd === 'number' ? microsOf(usd) : usd;
}

/** As it stands on the wire: USD with at most six decimals. */
export function usdOf(amount: MicroUsd): number {
  return decimalOf(BigInt(amount), 6);
}

export function usdOrNull(amount: MicroUsd | null): number | null {
  return amount === null ? null : usdOf(amount);
}

/** A count of units of 10^-decimals as a number: the nearest to its decimal text, where a division might miss it. */
export function decimalOf(units: bigint, decimals: number): number {
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0');
  const value = Number(`${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`);
  return units < 0n ? -value : value;
}

export function sumOfMoney(amounts: Iterable<MicroUsd>): bigint {
  let sum = 0n;
  for (const amount of amounts) sum += BigInt(amount);
  return sum;
}

/** Rounded half to even; the denominator is above zero. */
export function roundedQuotient(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twiceRest = 2n * (numerator % denominator);
  const size = twiceRest < 0n ? -twiceRest : twiceRest;
  const isUp = size > denominator || (size === denominator && quotient % 2n !== 0n);
  return isUp ? quotient + (numerator < 0n ? -1n : 1n) : quotient;
}
