import fc from 'fast-check';
import { usdToMicros, divideRoundingHalfEven, sumMoney, microsToUsd } from './money';

describe('money', () => {
  it('usdToMicros rounds the decimal digits of a number of USD half to even', () => {
    const read = [0, 0.1 + 0.2, 1e-7, 5e-7, 1.5e-6, 2.5e-6, 0.0000025000001, 1234567.891234, 1e6, -0.0000015];
    expect(read.map(usdToMicros)).toEqual([
      0n,
      300_000n,
      0n,
      0n,
      2n,
      2n,
      3n,
      1_234_567_891_234n,
      1_000_000_000_000n,
      -2n,
    ]);
  });

  it.each([NaN, Infinity, -Infinity, 1e21, 9_007_199_255])('usdToMicros rejects %d USD', (usd) => {
    expect(() => usdToMicros(usd)).toThrow(RangeError);
  });

  it('microsToUsd returns at most six decimals, from which usdToMicros restores the same amount', () => {
    const amount = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
    fc.assert(
      fc.property(amount, (micros) => {
        const usd = microsToUsd(micros);
        expect(Number(usd.toFixed(6))).toBe(usd);
        expect(usdToMicros(usd)).toBe(micros);
      }),
    );
  });

  it('sumMoney is exact, even if a number cannot represent the sum', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(sumMoney([most, most, 2n, most])).toBe(3n * BigInt(most) + 2n);
    expect(sumMoney([])).toBe(0n);
  });

  it('divideRoundingHalfEven rounds to the nearest integer, and half to even', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt({ min: 1n, max: 10n ** 30n }), (numerator, denominator) => {
        const rounded = divideRoundingHalfEven(numerator, denominator);
        const off = 2n * (numerator - rounded * denominator);
        expect(off <= denominator && off >= -denominator).toBe(true);
        if (off === denominator || off === -denominator) expect(rounded % 2n).toBe(0n);
      }),
    );
  });
});
