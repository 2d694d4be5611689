import { AppError, microsOf, type ModelPrice, type ModelPriceInput, usdOf } from '@muster/contracts';
import type { ModelPriceEntity } from '@muster/database';
import { shippedModelPrices } from './shipped-model-prices';

/** Price in an organization's list or in the default list. */
export type PriceRow = Omit<ModelPriceEntity, 'organizationId'>;

/** Key by which names are compared case-insensitively. */
export function keyOf(name: string): string {
  return name.toLowerCase();
}

/** Converts a new price list to rows. Throws invalid_payload if a model has two prices for one day. */
export function priceRowsOf(prices: ModelPriceInput[]): PriceRow[] {
  const seen = new Set<string>();
  return prices.map(({ provider, model, inputUsdPerMillion, outputUsdPerMillion, from }, at) => {
    const row = {
      providerKey: keyOf(provider),
      modelKey: keyOf(model),
      fromDay: from,
      provider,
      model,
      inputMicros: microsOf(inputUsdPerMillion),
      outputMicros: microsOf(outputUsdPerMillion),
    };
    const key = identityOf(row);
    if (seen.has(key)) throw duplicatePrice(at);
    seen.add(key);
    return row;
  });
}

/** Default prices that are part of the release. */
export const shippedRows: readonly PriceRow[] = priceRowsOf(
  shippedModelPrices.map(([provider, model, inputUsdPerMillion, outputUsdPerMillion, from]) => ({
    provider,
    model,
    inputUsdPerMillion,
    outputUsdPerMillion,
    from,
  })),
);

export function presentPrice(row: PriceRow, source: ModelPrice['source']): ModelPrice {
  return {
    provider: row.provider,
    model: row.model,
    inputUsdPerMillion: usdOf(row.inputMicros),
    outputUsdPerMillion: usdOf(row.outputMicros),
    from: row.fromDay,
    source,
  };
}

/** Identity of a price within its list: provider, model and day. */
export function identityOf({ providerKey, modelKey, fromDay }: Pick<PriceRow, 'providerKey' | 'modelKey' | 'fromDay'>) {
  return `${providerKey}\n${modelKey}\n${fromDay}`;
}

function duplicatePrice(at: number): AppError {
  const message = `prices.${at} has the same provider, model and day as an earlier price`;
  return new AppError('invalid_payload', { detail: message, errors: [{ field: `prices.${at}`, message }] });
}
