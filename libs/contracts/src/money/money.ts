/**
 * An amount of money in whole micro-dollars (millionths of a USD). The database returns a number if that is exact,
 * otherwise a bigint. So amounts cannot be added with `+`: use the functions of this file to add, round and show
 * them.
 */
export type MicroUsd = number | bigint;

/** Maximum amount that a client can send: below 2^53 micro-dollars, which a number represents exactly. */
const maxSentUsd = Number.MAX_SAFE_INTEGER / 1_000_000;

/** Converts USD to micro-dollars by the decimal digits of the number, rounded half to even: 0.0000005 is 0. */
export function usdToMicros(usd: number): bigint {
  if (!Number.isFinite(usd) || Math.abs(usd) > maxSentUsd) throw new RangeError(`${usd} USD is not a valid amount`);
  const [digits, exponent = '0'] = String(usd).split('e') as [string, string?];
  const [whole, fraction = ''] = digits.split('.') as [string, string?];
  const scaled = BigInt(whole + fraction);
  const shift = 6 - fraction.length + Number(exponent);
  return shift >= 0 ? scaled * 10n ** BigInt(shift) : divideRoundingHalfEven(scaled, 10n ** BigInt(-shift));
}

/** Like usdToMicros, but returns null (no limit) and undefined (not specified) unchanged. */
export function usdToMicrosIfSet<T extends null | undefined>(usd: number | T): bigint | T {
  return typeof usd === 'number' ? usdToMicros(usd) : usd;
}

/** Returns the amount as the API represents it: USD with at most six decimals. */
export function microsToUsd(amount: MicroUsd): number {
  return unitsToDecimal(BigInt(amount), 6);
}

export function microsToUsdOrNull(amount: MicroUsd | null): number | null {
  return amount === null ? null : microsToUsd(amount);
}

/**
 * Converts a number of units of 10^-decimals to the nearest JavaScript number. Parses the decimal text, because a
 * division could be inexact.
 */
export function unitsToDecimal(units: bigint, decimals: number): number {
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0');
  const value = Number(`${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`);
  return units < 0n ? -value : value;
}

export function sumMoney(amounts: Iterable<MicroUsd>): bigint {
  let sum = 0n;
  for (const amount of amounts) sum += BigInt(amount);
  return sum;
}

/** Divides and rounds half to even. The denominator must be positive. */
export function divideRoundingHalfEven(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twiceRest = 2n * (numerator % denominator);
  const size = twiceRest < 0n ? -twiceRest : twiceRest;
  const isUp = size > denominator || (size === denominator && quotient % 2n !== 0n);
  return isUp ? quotient + (numerator < 0n ? -1n : 1n) : quotient;
}
