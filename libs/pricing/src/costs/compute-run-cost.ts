import { type MicroUsd, divideRoundingHalfEven, sumMoney } from '@muster/contracts';
import type { RunCostComponentEntity } from '@muster/database';

/** Price of a model, in micro-dollars for a million tokens. */
interface ModelPrice {
  inputMicros: MicroUsd;
  outputMicros: MicroUsd;
}

/** Usage of one model by a run on one day. Prices change by the day. */
export interface ModelUsage {
  provider: string;
  model: string;
  inputTokens: bigint;
  outputTokens: bigint;
  /** Cost that the run reported for this usage; null if it reported none. */
  reportedMicros: bigint | null;
  /** Price of the model on that day; null if no price is known. */
  price: ModelPrice | null;
}

export interface CostFacts {
  usages: ModelUsage[];
  /** Duration of the run in milliseconds; null if it never started. */
  runMs: number | null;
  computeMicrosPerHour: MicroUsd;
  /** Total cost that the worker reported; null if it reported none. */
  reportedMicros: MicroUsd | null;
}

export type CostComponent = Pick<
  RunCostComponentEntity,
  'kind' | 'provider' | 'model' | 'quantity' | 'unit' | 'unitPriceUsd' | 'unpriced'
> & { amountMicros: bigint };

export interface RunCost {
  components: CostComponent[];
  aiMicros: bigint;
  computeMicros: bigint;
  reportedMicros: bigint;
  totalMicros: bigint;
}

/** Computes the cost of a run and its components. Each component is rounded once, and the total is their sum. */
export function computeRunCost({ usages, runMs, computeMicrosPerHour, reportedMicros }: CostFacts): RunCost {
  const ai = createAiComponents(usages);
  const compute = runMs === null ? [] : [computeMachineComponent(runMs, computeMicrosPerHour)];
  const computed = sumCostComponents([...ai, ...compute]);
  const beyond = BigInt(reportedMicros ?? 0) - computed;
  const reported: CostComponent[] = beyond > 0n ? [createReportedComponent('reported', beyond)] : [];
  return {
    components: [...ai, ...compute, ...reported],
    aiMicros: sumCostComponents(ai),
    computeMicros: sumCostComponents(compute),
    reportedMicros: sumCostComponents(reported),
    totalMicros: sumCostComponents([...ai, ...compute, ...reported]),
  };
}

const sumCostComponents = (components: CostComponent[]) => sumMoney(components.map(({ amountMicros }) => amountMicros));

const msPerHour = 3_600_000n;
const tokensPerPrice = 1_000_000n;
/** Maximum number of models listed for a run; the other models are summed up as `(others)`. */
const maxModels = 200;
const others = '(others)';

function computeMachineComponent(runMs: number, microsPerHour: MicroUsd): CostComponent {
  const ms = BigInt(runMs);
  return {
    kind: 'compute',
    provider: null,
    model: null,
    quantity: formatDecimal(divideRoundingHalfEven(ms * 10n ** 9n, msPerHour), 9),
    unit: 'hour',
    unitPriceUsd: formatDecimal(BigInt(microsPerHour), 6),
    amountMicros: divideRoundingHalfEven(ms * BigInt(microsPerHour), msPerHour),
    unpriced: false,
  };
}

/** Creates the component for an amount that was reported without a quantity. */
function createReportedComponent(
  kind: 'ai' | 'reported',
  amount: bigint,
  usedModel?: { provider: string; model: string },
) {
  const { provider = null, model = null } = usedModel ?? {};
  const unitPriceUsd = formatDecimal(amount, 6);
  return {
    kind,
    provider,
    model,
    quantity: '1',
    unit: 'reported',
    unitPriceUsd,
    amountMicros: amount,
    unpriced: false,
  };
}

/** Exact sums of a model before rounding: tokens, and tokens times price. */
interface ModelSum {
  provider: string;
  model: string;
  isPriced: boolean;
  tokens: { input: bigint; output: bigint };
  /** Tokens times price, in millionths of a micro-dollar. */
  worth: { input: bigint; output: bigint };
  reported: bigint | null;
}

function createAiComponents(usages: ModelUsage[]): CostComponent[] {
  return sumUsagesByModel(usages).flatMap((sum) => {
    const directions = (['input', 'output'] as const).map((direction) => createDirectionComponent(sum, direction));
    const { isPriced, reported, provider, model } = sum;
    return isPriced || reported === null
      ? directions
      : [...directions, createReportedComponent('ai', reported, { provider, model })];
  });
}

/** Sums usages by model. Names are compared case-insensitively; priced and unpriced usages of a model stay separate. */
function sumUsagesByModel(usages: ModelUsage[]): ModelSum[] {
  const sums = new Map<string, ModelSum>();
  const models = new Set<string>();
  for (const usage of [...usages].sort(compareByName)) {
    const name = `${usage.provider}\n${usage.model}`.toLowerCase();
    const isShown = models.has(name) || models.size < maxModels;
    if (isShown) models.add(name);
    const { provider, model } = isShown ? usage : { provider: others, model: others };
    const key = `${isShown ? name : others}\n${usage.price === null ? 'unpriced' : 'priced'}`;
    const sum = sums.get(key) ?? createEmptyUsageSum({ provider, model, isPriced: usage.price !== null });
    sums.set(key, sum);
    addUsageToSum(sum, usage);
  }
  // Sorted by code units, so that the order does not depend on the locale.
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

function addUsageToSum(sum: ModelSum, { inputTokens, outputTokens, price, reportedMicros }: ModelUsage): void {
  sum.tokens.input += inputTokens;
  sum.tokens.output += outputTokens;
  sum.worth.input += inputTokens * BigInt(price?.inputMicros ?? 0);
  sum.worth.output += outputTokens * BigInt(price?.outputMicros ?? 0);
  if (reportedMicros !== null) sum.reported = (sum.reported ?? 0n) + reportedMicros;
}

function createEmptyUsageSum(identity: Pick<ModelSum, 'provider' | 'model' | 'isPriced'>): ModelSum {
  return { ...identity, tokens: { input: 0n, output: 0n }, worth: { input: 0n, output: 0n }, reported: null };
}

/**
 * Orders usages in a fixed order, so that the same spelling of a name is shown, and the same models are listed if there
 * are too many.
 */
function compareByName(a: ModelUsage, b: ModelUsage): number {
  const [left, right] = [a, b].map(({ provider, model }) => `${provider}\n${model}`) as [string, string];
  return left < right ? -1 : left > right ? 1 : 0;
}

function createDirectionComponent(sum: ModelSum, direction: 'input' | 'output'): CostComponent {
  const { provider, model, isPriced } = sum;
  const tokens = sum.tokens[direction];
  const worth = sum.worth[direction];
  return {
    kind: 'ai',
    provider,
    model,
    quantity: String(tokens),
    unit: `${direction}_token`,
    // If the price changed during the run, this is the average price of a token.
    unitPriceUsd: tokens === 0n ? '0' : formatDecimal(divideRoundingHalfEven(worth * 10n ** 12n, tokens), 24),
    amountMicros: divideRoundingHalfEven(worth, tokensPerPrice),
    unpriced: !isPriced,
  };
}

/** Formats a number of units of 10^-decimals as a decimal. */
function formatDecimal(units: bigint, decimals: number): string {
  const digits = String(units).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '');
}
