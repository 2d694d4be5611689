import { type MicroUsd, sumMoney } from '@muster/contracts';
import type { ClientPricingModelEntity } from '@muster/database';

/** Prices and rules by which a run is charged. */
export type PricingModel = Pick<
  ClientPricingModelEntity,
  'pricingType' | 'blockSize' | 'priceMicros' | 'minimumMicros'
>;

export interface RunCharge {
  chargeMicros: MicroUsd;
  /** Charge of each NPI (health care provider); empty unless the pricing type is npi_claim_block. */
  npis: { npi: string; claims: number; blocks: number; chargeMicros: MicroUsd }[];
}

/** Computes the charge by started blocks of claims per NPI, by claim, or per run; never less than the minimum. */
export function computeRunCharge(model: PricingModel, claimsPerNpi: Record<string, number>): RunCharge {
  const { pricingType, blockSize, minimumMicros } = model;
  const price = BigInt(model.priceMicros);
  const perNpi = Object.entries(claimsPerNpi);
  const applyMinimum = (micros: bigint) => (micros < minimumMicros ? minimumMicros : micros);
  if (pricingType === 'npi_claim_block') {
    const npis = perNpi.map(([npi, claims]) => {
      const blocks = Math.ceil(claims / blockSize!);
      return { npi, claims, blocks, chargeMicros: BigInt(blocks) * price };
    });
    return { chargeMicros: applyMinimum(sumMoney(npis.map(({ chargeMicros }) => chargeMicros))), npis };
  }
  const units = pricingType === 'per_claim' ? perNpi.reduce((sum, [, claims]) => sum + claims, 0) : 1;
  return { chargeMicros: applyMinimum(BigInt(units) * price), npis: [] };
}
