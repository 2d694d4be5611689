import { AppError, type ClientPricingModel, usdToMicros, type PricingType } from '@muster/contracts';
import type { PricingModel } from './compute-run-charge';

type Key = Exclude<keyof ClientPricingModel, 'pricingType' | 'minimumUsd'>;

/** Keys that each pricing type requires. The keys of the other types are not allowed. */
const keysOf: Record<PricingType, Key[]> = {
  npi_claim_block: ['blockSize', 'pricePerBlockUsd'],
  per_claim: ['pricePerClaimUsd'],
  flat_per_run: ['pricePerRunUsd'],
};

/** Reads a pricing model from a request body. Throws invalid_payload if its keys do not match its type. */
export function parsePricingModel(body: ClientPricingModel): PricingModel {
  const { pricingType } = body;
  const own = keysOf[pricingType];
  const errors = Object.values(keysOf)
    .flat()
    .filter((key) => own.includes(key) === (body[key] === undefined))
    .map((key) => ({
      field: key,
      message: own.includes(key) ? `${key} is required for ${pricingType}` : `${key} is not allowed for ${pricingType}`,
    }));
  if (errors.length > 0) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
  const price = body.pricePerBlockUsd ?? body.pricePerClaimUsd ?? body.pricePerRunUsd;
  return {
    pricingType,
    blockSize: body.blockSize ?? null,
    priceMicros: Number(usdToMicros(price!)),
    minimumMicros: Number(usdToMicros(body.minimumUsd ?? 0)),
  };
}
