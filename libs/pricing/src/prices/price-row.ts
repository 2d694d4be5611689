import { AppError, microsOf, type ModelPrice, type ModelPriceInput, usdOf } from '@muster/contracts';
import type { ModelPriceEntity } from '@muster/database';
import { shippedModelPrices } from './shipped-model-prices';

/** A price of a list, whosever that is. */
export type PriceRow = Omit<ModelPriceEntity, 'organizationId'>;

/** What names are compared by: capitals make no difference. */
export function keyOf(name: string): string {
  return name.toLowerCase();
}

/** The rows of a list that is to replace another. Throws where it says two things of one model and day. */
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
    if (seen.has(key)) throw repeated(at);
    seen.add(key);
    return row;
  });
}

/** The default prices as they are shipped. */
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

/** By provider, model and day. */
export function identityOf({ providerKey, modelKey, fromDay }: Pick<PriceRow, 'providerKey' | 'modelKey' | 'fromDay'>) {
  return `${providerKey}\n${modelKey}\n${fromDay}`;
}

function repeated(at: number): AppError {
  const message = `prices.${at} is of the same provider, model and day as one before it`;
  return new AppError('invalid_payload', { detail: message, errors: [{ field: `prices.${at}`, message }] });
}
