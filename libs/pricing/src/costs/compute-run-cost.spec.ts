import fc from 'fast-check';
import { computeRunCost, type ModelUsage } from './compute-run-cost';

// The expected costs are computed with fractions of whole numbers in USD, without code of the module under test.

type Fraction = [bigint, bigint];
const addFractions = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d];
const multiplyFractions = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d];

/** Rounds to whole micro-dollars, half to even. */
function roundToMicros([numerator, denominator]: Fraction): bigint {
  const micros = numerator * 1_000_000n;
  const below = micros / denominator;
  const toBelow = micros - below * denominator;
  const toAbove = denominator - toBelow;
  if (toBelow === 0n || toBelow < toAbove) return below;
  if (toBelow > toAbove) return below + 1n;
  return below % 2n === 0n ? below : below + 1n;
}

const microsToFraction = (count: bigint | number): Fraction => [BigInt(count), 1_000_000n];

function computeExpectedCost(
  usages: ModelUsage[],
  run: { ms: number | null; hourly: number; reported: number | null },
) {
  const ai = new Map<string, Fraction>();
  const addCost = (key: string, usd: Fraction) => ai.set(key, addFractions(ai.get(key) ?? [0n, 1n], usd));
  for (const { provider, model, inputTokens, outputTokens, price, reportedMicros } of usages) {
    const name = `${provider.toLowerCase()} ${model.toLowerCase()}`;
    const perToken = (price_: number | bigint): Fraction =>
      multiplyFractions(microsToFraction(price_), [1n, 1_000_000n]);
    addCost(
      `${name} ${price ? 'priced' : 'unpriced'} input`,
      price ? multiplyFractions([inputTokens, 1n], perToken(price.inputMicros)) : [0n, 1n],
    );
    addCost(
      `${name} ${price ? 'priced' : 'unpriced'} output`,
      price ? multiplyFractions([outputTokens, 1n], perToken(price.outputMicros)) : [0n, 1n],
    );
    if (!price && reportedMicros !== null) addCost(`${name} reported`, microsToFraction(reportedMicros));
  }
  const parts = [...ai.values()].map(roundToMicros);
  if (run.ms !== null)
    parts.push(roundToMicros(multiplyFractions([BigInt(run.ms), 3_600_000n], microsToFraction(run.hourly))));
  const computed = parts.reduce((sum, part) => sum + part, 0n);
  const beyond = run.reported === null ? 0n : BigInt(run.reported) - computed;
  if (beyond > 0n) parts.push(beyond);
  return { parts, total: parts.reduce((sum, part) => sum + part, 0n) };
}

const count = fc.bigInt({ min: 0n, max: 2_147_483_647n });
const price = fc.nat(10_000_000_000);
const usage: fc.Arbitrary<ModelUsage> = fc.record({
  provider: fc.constantFrom('openai', 'OpenAI', 'anthropic'),
  model: fc.constantFrom('gpt', 'GPT', 'claude', 'clAude'),
  inputTokens: fc.oneof(fc.bigInt({ min: 0n, max: 50n }), count),
  outputTokens: fc.oneof(fc.bigInt({ min: 0n, max: 50n }), count),
  reportedMicros: fc.option(fc.bigInt({ min: 0n, max: 10n ** 12n })),
  price: fc.option(fc.record({ inputMicros: fc.oneof(price, fc.nat(1_000_000)), outputMicros: price })),
});

describe('computeRunCost', () => {
  it('a run’s cost equals exact fractions to the micro-dollar, and its total is the sum of the components', () => {
    const ms = fc.option(fc.oneof(fc.nat(7_200_000), fc.nat(43_200_000)));
    const run = fc.record({ ms, hourly: fc.nat(10_000_000_000), reported: fc.option(fc.nat(1_000_000_000)) });
    fc.assert(
      fc.property(fc.array(usage, { maxLength: 30 }), run, (usages, { ms: runMs, hourly, reported }) => {
        const facts = { usages, runMs, computeMicrosPerHour: hourly, reportedMicros: reported };
        const { components, totalMicros, aiMicros, computeMicros, reportedMicros } = computeRunCost(facts);
        const { parts, total } = computeExpectedCost(usages, { ms: runMs, hourly, reported });
        const inOrder = (amounts: bigint[]) => [...amounts].sort((a, b) => (a < b ? -1 : 1));
        expect(inOrder(components.map(({ amountMicros }) => amountMicros))).toEqual(inOrder(parts));
        expect([totalMicros, aiMicros + computeMicros + reportedMicros]).toEqual([total, total]);
      }),
      { numRuns: 500 },
    );
  });

  it('a run’s cost is the same for any order of its usages', () => {
    fc.assert(
      fc.property(fc.array(usage, { maxLength: 12 }), (usages) => {
        const facts = { runMs: 1, computeMicrosPerHour: 1, reportedMicros: null };
        const computeAmounts = (input: ModelUsage[]) =>
          computeRunCost({ ...facts, usages: input }).components.map(({ amountMicros, quantity, unit }) => [
            amountMicros,
            quantity,
            unit,
          ]);
        expect(computeAmounts([...usages].reverse())).toEqual(computeAmounts(usages));
      }),
    );
  });

  const none = { usages: [], runMs: null, computeMicrosPerHour: 120_000, reportedMicros: null };

  it('a token costs a millionth of the model’s price, and machine hours have nine decimals', () => {
    const openai = { provider: 'openai', model: 'm', inputTokens: 812n, outputTokens: 64n, reportedMicros: 9n };
    const usages = [{ ...openai, price: { inputMicros: 400_000, outputMicros: 1_600_000 } }];
    expect(computeRunCost({ ...none, usages, runMs: 1_000 }).components).toMatchObject([
      { quantity: '812', unit: 'input_token', unitPriceUsd: '0.0000004', amountMicros: 325n, unpriced: false },
      { quantity: '64', unit: 'output_token', unitPriceUsd: '0.0000016', amountMicros: 102n },
      { kind: 'compute', quantity: '0.000277778', unit: 'hour', unitPriceUsd: '0.12', amountMicros: 33n },
    ]);
  });

  it('unpriced tokens and their reported cost are separate components of a run’s cost', () => {
    const usage = { provider: 'x', model: 'm', inputTokens: 5n, outputTokens: 7n, reportedMicros: 4_200n, price: null };
    expect(computeRunCost({ ...none, usages: [usage, usage] }).components).toMatchObject([
      { quantity: '10', unit: 'input_token', amountMicros: 0n, unpriced: true },
      { quantity: '14', unit: 'output_token', amountMicros: 0n, unpriced: true },
      { kind: 'ai', quantity: '1', unit: 'reported', unitPriceUsd: '0.0084', amountMicros: 8_400n, unpriced: false },
    ]);
  });

  it('a run’s cost lists at most 200 models and sums up the others as (others), without losing any cost', () => {
    const usages = Array.from({ length: 5_000 }, (_, at) => ({
      provider: 'x',
      model: `m${at}`,
      inputTokens: 1_000_000n,
      outputTokens: 0n,
      reportedMicros: null,
      price: { inputMicros: 3, outputMicros: 0 },
    }));
    const { components, totalMicros } = computeRunCost({ ...none, usages });
    expect([components.length, totalMicros]).toEqual([402, 15_000n]);
    expect(components.filter(({ model }) => model === '(others)')).toHaveLength(2);
  });
});
