import { type MicroUsd, sumOfMoney } from '@muster/contracts';
import type { ClientPricingModelEntity } from '@muster/database';

/** What a run is charged by. */
export type PricingModel = Pick<
  ClientPricingModelEntity,
  'pricingType' | 'blockSize' | 'priceMicros' | 'minimumMicros'
>;

export interface RunCharge {
  chargeMicros: MicroUsd;
  /** For npi_claim_block: what each NPI comes to. */
  npis: { npi: string; claims: number; blocks: number; chargeMicros: MicroUsd }[];
}

/** What a run is charged: by begun blocks of each NPI, by claims, or once; never less than the minimum. */
export function chargeRun(model: PricingModel, claimsPerNpi: Record<string, number>): RunCharge {
  const { pricingType, blockSize, minimumMicros } = model;
  const price = BigInt(model.priceMicros);
  const perNpi = Object.entries(claimsPerNpi);
  const atLeast = (micros: bigint) => (micros < minimumMicros ? minimumMicros : micros);
  if (pricingType === 'npi_claim_block') {
    const npis = perNpi.map(([npi, claims]) => {
      const blocks = Math.ceil(claims / blockSize!);
      return { npi, claims, blocks, chargeMicros: BigInt(blocks) * price };
    });
    return { chargeMicros: atLeast(sumOfMoney(npis.map(({ chargeMicros }) => chargeMicros))), npis };
  }
  const units = pricingType === 'per_claim' ? perNpi.reduce((sum, [, claims]) => sum + claims, 0) : 1;
  return { chargeMicros: atLeast(BigInt(units) * price), npis: [] };
}
