import { AppError, type ClientPricingModel, microsOf, type PricingType } from '@muster/contracts';
import type { PricingModel } from './charge-run';

type Key = Exclude<keyof ClientPricingModel, 'pricingType' | 'minimumUsd'>;

/** What each type is priced by: all of it, and nothing of the others. */
const keysOf: Record<PricingType, Key[]> = {
  npi_claim_block: ['blockSize', 'pricePerBlockUsd'],
  per_claim: ['pricePerClaimUsd'],
  flat_per_run: ['pricePerRunUsd'],
};

/** A model as it was sent; throws invalid_payload where its keys are not those of its type. */
export function readModel(body: ClientPricingModel): PricingModel {
  const { pricingType } = body;
  const own = keysOf[pricingType];
  const errors = Object.values(keysOf)
    .flat()
    .filter((key) => own.includes(key) === (body[key] === undefined))
    .map((key) => ({
      field: key,
      message: own.includes(key) ? `${key} is what ${pricingType} is priced by` : `${key} is no part of ${pricingType}`,
    }));
  if (errors.length > 0) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
  const price = body.pricePerBlockUsd ?? body.pricePerClaimUsd ?? body.pricePerRunUsd;
  return {
    pricingType,
    blockSize: body.blockSize ?? null,
    priceMicros: Number(microsOf(price!)),
    minimumMicros: Number(microsOf(body.minimumUsd ?? 0)),
  };
}
