import type { AiUsageEntity, Transaction } from '@muster/database';
import { toNameKey, type PriceRow, shippedRows } from './price-row';

/** Model and day that a price is needed for. */
export interface PricedDay extends Pick<AiUsageEntity, 'provider' | 'model'> {
  /** UTC day as YYYY-MM-DD. */
  day: string;
}

export type FoundPrice = Pick<PriceRow, 'inputMicros' | 'outputMicros'>;

/**
 * Returns a function that finds the price of a model on a day: the organization's latest price up to that day, or else
 * the latest default price, or else null. One statement reads all prices, so that they are consistent.
 */
export async function findPrices(
  tx: Transaction,
  organizationId: string,
  wanted: PricedDay[],
): Promise<(pricedDay: PricedDay) => FoundPrice | null> {
  if (wanted.length === 0) return () => null;
  const models = [...new Map(wanted.map((each) => [getModelKey(each), each])).values()];
  const rows = await tx.query<PriceRow & { source: 'organization' | 'default' | 'replaced' }>(
    `WITH wanted AS (SELECT * FROM unnest($2::text[], $3::text[]) AS w (provider_key, model_key))
     SELECT 'organization' AS source, ${columns} FROM model_price p JOIN wanted USING (provider_key, model_key)
     WHERE organization_id = $1
     UNION ALL
     SELECT 'default', ${columns} FROM default_model_price p JOIN wanted USING (provider_key, model_key)
     UNION ALL
     SELECT 'replaced', '', '', '', 0, 0 FROM default_price_list`,
    [organizationId, models.map(({ provider }) => toNameKey(provider)), models.map(({ model }) => toNameKey(model))],
    'find_prices',
  );
  const isReplaced = rows.some(({ source }) => source === 'replaced');
  const own = groupPricesByModel(rows.filter(({ source }) => source === 'organization'));
  const defaults = isReplaced ? groupPricesByModel(rows.filter(({ source }) => source === 'default')) : shipped;
  return (pricedDay) => {
    const key = getModelKey(pricedDay);
    return findPriceOnDay(own.get(key), pricedDay.day) ?? findPriceOnDay(defaults.get(key), pricedDay.day);
  };
}

const columns = `provider_key, model_key, from_day::text AS from_day, input_micros, output_micros`;

export function getModelKey({ provider, model }: Pick<PricedDay, 'provider' | 'model'>): string {
  return `${toNameKey(provider)}\n${toNameKey(model)}`;
}

type DatedPrice = FoundPrice & Pick<PriceRow, 'fromDay'>;

function groupPricesByModel(rows: readonly PriceRow[]): Map<string, DatedPrice[]> {
  const lists = new Map<string, DatedPrice[]>();
  for (const row of rows) {
    const key = `${row.providerKey}\n${row.modelKey}`;
    const list = lists.get(key);
    if (list) list.push(row);
    else lists.set(key, [row]);
  }
  return lists;
}

const shipped = groupPricesByModel(shippedRows);

function findPriceOnDay(prices: DatedPrice[] = [], day: string): FoundPrice | null {
  let latest: DatedPrice | null = null;
  for (const price of prices) {
    if (price.fromDay <= day && (!latest || price.fromDay > latest.fromDay)) latest = price;
  }
  return latest;
}
