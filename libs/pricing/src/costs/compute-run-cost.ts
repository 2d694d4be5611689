import { type MicroUsd, roundedQuotient, sumOfMoney } from '@muster/contracts';
import type { RunCostComponentEntity } from '@muster/database';

/** What a model costs, in micro-dollars for a million tokens. */
interface ModelPrice {
  inputMicros: MicroUsd;
  outputMicros: MicroUsd;
}

/** What a run used of one model on one day, the unit of time of prices. */
export interface ModelUsage {
  provider: string;
  model: string;
  inputTokens: bigint;
  outputTokens: bigint;
  /** What was said to be its cost; null where nothing was. */
  saidMicros: bigint | null;
  /** Null where none is known. */
  price: ModelPrice | null;
}

export interface CostFacts {
  usages: ModelUsage[];
  /** Null for a run that never started. */
  runMs: number | null;
  computeMicrosPerHour: MicroUsd;
  /** What its worker says that all of it cost. */
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

/** What a run has cost, and of what that is made: each component is rounded once, and the total is their sum. */
export function computeRunCost({ usages, runMs, computeMicrosPerHour, reportedMicros }: CostFacts): RunCost {
  const ai = aiComponents(usages);
  const compute = runMs === null ? [] : [computeComponent(runMs, computeMicrosPerHour)];
  const known = sumOf([...ai, ...compute]);
  const beyond = BigInt(reportedMicros ?? 0) - known;
  const reported: CostComponent[] = beyond > 0n ? [saidComponent('reported', beyond)] : [];
  return {
    components: [...ai, ...compute, ...reported],
    aiMicros: sumOf(ai),
    computeMicros: sumOf(compute),
    reportedMicros: sumOf(reported),
    totalMicros: sumOf([...ai, ...compute, ...reported]),
  };
}

const sumOf = (components: CostComponent[]) => sumOfMoney(components.map(({ amountMicros }) => amountMicros));

const msPerHour = 3_600_000n;
const tokensPerPrice = 1_000_000n;
/** A run that names more models than this shows the others as one. */
const maxModels = 200;
const others = '(others)';

function computeComponent(runMs: number, microsPerHour: MicroUsd): CostComponent {
  const ms = BigInt(runMs);
  return {
    kind: 'compute',
    provider: null,
    model: null,
    quantity: decimalText(roundedQuotient(ms * 10n ** 9n, msPerHour), 9),
    unit: 'hour',
    unitPriceUsd: decimalText(BigInt(microsPerHour), 6),
    amountMicros: roundedQuotient(ms * BigInt(microsPerHour), msPerHour),
    unpriced: false,
  };
}

/** An amount that somebody said, and nothing more. */
function saidComponent(kind: 'ai' | 'reported', amount: bigint, of?: { provider: string; model: string }) {
  const { provider = null, model = null } = of ?? {};
  const unitPriceUsd = decimalText(amount, 6);
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

/** What is added up before it is rounded: tokens, and these times their prices. */
interface ModelSum {
  provider: string;
  model: string;
  isPriced: boolean;
  tokens: { input: bigint; output: bigint };
  /** In millionths of a micro-dollar. */
  worth: { input: bigint; output: bigint };
  said: bigint | null;
}

function aiComponents(usages: ModelUsage[]): CostComponent[] {
  return sumsByModel(usages).flatMap((sum) => {
    const directions = (['input', 'output'] as const).map((direction) => directionComponent(sum, direction));
    const { isPriced, said, provider, model } = sum;
    return isPriced || said === null ? directions : [...directions, saidComponent('ai', said, { provider, model })];
  });
}

/** Models are the same whatever their capitals; what no price is known of stands apart from what was priced. */
function sumsByModel(usages: ModelUsage[]): ModelSum[] {
  const sums = new Map<string, ModelSum>();
  const models = new Set<string>();
  for (const usage of [...usages].sort(byName)) {
    const name = `${usage.provider}\n${usage.model}`.toLowerCase();
    const isShown = models.has(name) || models.size < maxModels;
    if (isShown) models.add(name);
    const { provider, model } = isShown ? usage : { provider: others, model: others };
    const key = `${isShown ? name : others}\n${usage.price === null ? 'unpriced' : 'priced'}`;
    const sum = sums.get(key) ?? emptySum({ provider, model, isPriced: usage.price !== null });
    sums.set(key, sum);
    add(sum, usage);
  }
  // In an order that is the same wherever it is computed.
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

function add(sum: ModelSum, { inputTokens, outputTokens, price, saidMicros }: ModelUsage): void {
  sum.tokens.input += inputTokens;
  sum.tokens.output += outputTokens;
  sum.worth.input += inputTokens * BigInt(price?.inputMicros ?? 0);
  sum.worth.output += outputTokens * BigInt(price?.outputMicros ?? 0);
  if (saidMicros !== null) sum.said = (sum.said ?? 0n) + saidMicros;
}

function emptySum(of: Pick<ModelSum, 'provider' | 'model' | 'isPriced'>): ModelSum {
  return { ...of, tokens: { input: 0n, output: 0n }, worth: { input: 0n, output: 0n }, said: null };
}

/** So that of names that differ in capitals the same one is shown, and of too many models the same ones. */
function byName(a: ModelUsage, b: ModelUsage): number {
  const [left, right] = [a, b].map(({ provider, model }) => `${provider}\n${model}`) as [string, string];
  return left < right ? -1 : left > right ? 1 : 0;
}

function directionComponent(sum: ModelSum, direction: 'input' | 'output'): CostComponent {
  const { provider, model, isPriced } = sum;
  const tokens = sum.tokens[direction];
  const worth = sum.worth[direction];
  return {
    kind: 'ai',
    provider,
    model,
    quantity: String(tokens),
    unit: `${direction}_token`,
    // Where prices changed in the middle of the run, what a token cost on average.
    unitPriceUsd: tokens === 0n ? '0' : decimalText(roundedQuotient(worth * 10n ** 12n, tokens), 24),
    amountMicros: roundedQuotient(worth, tokensPerPrice),
    unpriced: !isPriced,
  };
}

/** A count of units of 10^-decimals, written out. */
function decimalText(units: bigint, decimals: number): string {
  const digits = String(units).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '');
}
