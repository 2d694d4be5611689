import { AppError, usdToMicros, type ModelPrice, type ModelPriceInput, microsToUsd } from '@muster/contracts';
import type { ModelPriceEntity } from '@muster/database';
import { shippedModelPrices } from './shipped-model-prices';

/** Price in an organization's list or in the default list. */
export type PriceRow = Omit<ModelPriceEntity, 'organizationId'>;

/** Returns the key by which a name is compared with other names case-insensitively. */
export function toNameKey(name: string): string {
  return name.toLowerCase();
}

/** Converts a new price list to rows. Throws invalid_payload if a model has two prices for one day. */
export function toPriceRows(prices: ModelPriceInput[]): PriceRow[] {
  const seen = new Set<string>();
  return prices.map(({ provider, model, inputUsdPerMillion, outputUsdPerMillion, from }, at) => {
    const row = {
      providerKey: toNameKey(provider),
      modelKey: toNameKey(model),
      fromDay: from,
      provider,
      model,
      inputMicros: usdToMicros(inputUsdPerMillion),
      outputMicros: usdToMicros(outputUsdPerMillion),
    };
    const key = getPriceIdentity(row);
    if (seen.has(key)) throw duplicatePriceError(at);
    seen.add(key);
    return row;
  });
}

/** Default prices that are part of the release. */
export const shippedRows: readonly PriceRow[] = toPriceRows(
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
    inputUsdPerMillion: microsToUsd(row.inputMicros),
    outputUsdPerMillion: microsToUsd(row.outputMicros),
    from: row.fromDay,
    source,
  };
}

/** Returns the identity of a price within its list: provider, model and day. */
export function getPriceIdentity({
  providerKey,
  modelKey,
  fromDay,
}: Pick<PriceRow, 'providerKey' | 'modelKey' | 'fromDay'>) {
  return `${providerKey}\n${modelKey}\n${fromDay}`;
}

function duplicatePriceError(at: number): AppError {
  const message = `prices.${at} has the same provider, model and day as an earlier price`;
  return new AppError('invalid_payload', { detail: message, errors: [{ field: `prices.${at}`, message }] });
}
