import type { Transaction } from '@muster/database';
import { findPrices, type FoundPrice, getModelKey, type PricedDay } from '../prices/find-prices';
import type { ModelUsage } from './compute-run-cost';

/** Price of a model on a day, as found when a run's usage was first priced; null if no price was known. */
export interface StoredPrice extends PricedDay {
  inputMicros: number | null;
  outputMicros: number | null;
}

export type UsageOfDay = Omit<ModelUsage, 'price'> & { day: string };

export interface UsageSum extends PricedDay {
  jobId: string;
  inputTokens: string;
  outputTokens: string;
  reportedMicros: string | null;
}

/**
 * Returns a run's usage of each model on each UTC day; prices change by the day. The time of a usage is the end of its
 * step, or else the start of its step, or else the time of the report.
 */
export async function readUsages(tx: Transaction, jobId: string): Promise<UsageOfDay[]> {
  const [sums] = await tx.queryStatements([buildUsagesStatement([jobId])]);
  return convertUsageSums(sums as UsageSum[]);
}

export function buildUsagesStatement(jobIds: string[]) {
  return { name: 'usages_of_runs', text: usagesOfRuns, values: [jobIds] };
}

export function convertUsageSums(sums: UsageSum[]): UsageOfDay[] {
  return sums.map(({ provider, model, day, inputTokens, outputTokens, reportedMicros }) => ({
    ...{ provider, model, day },
    inputTokens: BigInt(inputTokens),
    outputTokens: BigInt(outputTokens),
    reportedMicros: reportedMicros === null ? null : BigInt(reportedMicros),
  }));
}

const usagesOfRuns = `
  SELECT job_id, provider, model, to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
         sum(input_tokens)::text AS input_tokens, sum(output_tokens)::text AS output_tokens,
         sum(cost_micros)::text AS reported_micros
  FROM (
    SELECT u.*, COALESCE(s.finished_at, s.started_at, u.reported_at) AS moment
    FROM ai_usage u LEFT JOIN job_step s ON s.job_id = u.job_id AND s.step_order = u.step_order
    WHERE u.job_id = ANY($1)) used
  GROUP BY 1, 2, 3, 4`;

/** Maximum number of prices that are stored with a run. The prices of further models are looked up each time. */
const maxStoredPrices = 1000;

/** Prices each usage, by the stored price if there is one. Also returns the prices to store for the next time. */
export async function priceUsages(
  tx: Transaction,
  organizationId: string,
  { usages, stored }: { usages: UsageOfDay[]; stored: StoredPrice[] },
): Promise<{ usages: ModelUsage[]; prices: StoredPrice[] }> {
  const priceByKey = new Map(stored.map((price) => [getPricedDayKey(price), price]));
  const find = await findPrices(
    tx,
    organizationId,
    usages.filter((usage) => !priceByKey.has(getPricedDayKey(usage))),
  );
  const findUsagePrice = (usage: UsageOfDay): FoundPrice | null => {
    const before = priceByKey.get(getPricedDayKey(usage));
    return before ? toKnownPrice(before) : find(usage);
  };
  const priced = usages.map((usage) => ({ ...usage, price: findUsagePrice(usage) }));
  for (const { provider, model, day, price } of priced) {
    if (priceByKey.size >= maxStoredPrices) break;
    const inputMicros = price && Number(price.inputMicros);
    const outputMicros = price && Number(price.outputMicros);
    priceByKey.set(getPricedDayKey({ provider, model, day }), { provider, model, day, inputMicros, outputMicros });
  }
  return { usages: priced, prices: [...priceByKey.values()] };
}

function toKnownPrice({ inputMicros, outputMicros }: StoredPrice): FoundPrice | null {
  return inputMicros === null || outputMicros === null ? null : { inputMicros, outputMicros };
}

function getPricedDayKey(pricedDay: PricedDay): string {
  return `${getModelKey(pricedDay)}\n${pricedDay.day}`;
}
