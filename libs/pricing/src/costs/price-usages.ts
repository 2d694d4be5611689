import type { Transaction } from '@muster/database';
import { findPrices, type FoundPrice, modelKeyOf, type PricedDay } from '../prices/find-prices';
import type { ModelUsage } from './compute-run-cost';

/** What a model was found to cost on a day when a usage of it was priced first; nulls where no price was known. */
export interface KeptPrice extends PricedDay {
  inputMicros: number | null;
  outputMicros: number | null;
}

export type UsageOfDay = Omit<ModelUsage, 'price'> & { day: string };

export interface UsageSum extends PricedDay {
  jobId: string;
  inputTokens: string;
  outputTokens: string;
  saidMicros: string | null;
}

/**
 * What a run used of each model on each day of UTC: prices change by the day, so no finer is needed. A usage's moment is
 * its step's end, else its step's beginning, else when it was heard of.
 */
export async function readUsages(tx: Transaction, jobId: string): Promise<UsageOfDay[]> {
  const [sums] = await tx.queryAll([usagesStatement([jobId])]);
  return usagesIn(sums as UsageSum[]);
}

export function usagesStatement(jobIds: string[]) {
  return { name: 'usages_of_runs', text: usagesOfRuns, values: [jobIds] };
}

export function usagesIn(sums: UsageSum[]): UsageOfDay[] {
  return sums.map(({ provider, model, day, inputTokens, outputTokens, saidMicros }) => ({
    ...{ provider, model, day },
    inputTokens: BigInt(inputTokens),
    outputTokens: BigInt(outputTokens),
    saidMicros: saidMicros === null ? null : BigInt(saidMicros),
  }));
}

const usagesOfRuns = `
  SELECT job_id, provider, model, to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
         sum(input_tokens)::text AS input_tokens, sum(output_tokens)::text AS output_tokens,
         sum(cost_micros)::text AS said_micros
  FROM (
    SELECT u.*, COALESCE(s.finished_at, s.started_at, u.reported_at) AS moment
    FROM ai_usage u LEFT JOIN job_step s ON s.job_id = u.job_id AND s.step_order = u.step_order
    WHERE u.job_id = ANY($1)) used
  GROUP BY 1, 2, 3, 4`;

/** So many prices are kept with a run; one that uses more models looks for those of the others anew. */
const maxKept = 1000;

/** Finds what each costs, where that is not known from before, and answers what is to be known from now on. */
export async function priceUsages(
  tx: Transaction,
  organizationId: string,
  { usages, kept }: { usages: UsageOfDay[]; kept: KeptPrice[] },
): Promise<{ usages: ModelUsage[]; prices: KeptPrice[] }> {
  const known = new Map(kept.map((price) => [keyOfDay(price), price]));
  const find = await findPrices(
    tx,
    organizationId,
    usages.filter((usage) => !known.has(keyOfDay(usage))),
  );
  const priceOf = (usage: UsageOfDay): FoundPrice | null => {
    const before = known.get(keyOfDay(usage));
    return before ? foundIn(before) : find(usage);
  };
  const priced = usages.map((usage) => ({ ...usage, price: priceOf(usage) }));
  for (const { provider, model, day, price } of priced) {
    if (known.size >= maxKept) break;
    const inputMicros = price && Number(price.inputMicros);
    const outputMicros = price && Number(price.outputMicros);
    known.set(keyOfDay({ provider, model, day }), { provider, model, day, inputMicros, outputMicros });
  }
  return { usages: priced, prices: [...known.values()] };
}

function foundIn({ inputMicros, outputMicros }: KeptPrice): FoundPrice | null {
  return inputMicros === null || outputMicros === null ? null : { inputMicros, outputMicros };
}

function keyOfDay(of: PricedDay): string {
  return `${modelKeyOf(of)}\n${of.day}`;
}
