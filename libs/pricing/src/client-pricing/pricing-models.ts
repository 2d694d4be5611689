import { audit, listChangedFields, type Principal } from '@muster/access';
import { AppError, type ClientPricingModel, notFoundError, type PricingType, microsToUsd } from '@muster/contracts';
import type { Database, OrganizationEntity, Transaction } from '@muster/database';
import type { PricingModel } from './compute-run-charge';

/** 25 USD for each started block of 50 claims of an NPI. */
const defaultModel: PricingModel = {
  pricingType: 'npi_claim_block',
  blockSize: 50,
  priceMicros: 25_000_000,
  minimumMicros: 0,
};

const columns = `pricing_type, block_size, price_micros, minimum_micros`;

/** Returns the organization's pricing model. Throws pricing_model_missing if it has none. */
export async function readPricingModel(
  database: Database,
  caller: Principal,
  organizationId: string,
): Promise<PricingModel> {
  requireOrganizationAccess(caller, organizationId);
  const [row] = await database.query<{ organizationId: OrganizationEntity['id'] } & PricingModel>(
    { organizationId },
    `SELECT o.id AS organization_id, ${columns}
     FROM organization o LEFT JOIN client_pricing_model m ON m.organization_id = o.id WHERE o.id = $1`,
    [organizationId],
  );
  if (!row) throw notFoundError('organization');
  const { organizationId: _, ...model } = row;
  if (model.pricingType === null) throw noPricingModelError();
  return model;
}

/** Sets the organization's pricing model. Existing billing records keep the model that they were computed with. */
export async function putPricingModel(
  tx: Transaction,
  caller: Principal,
  organizationId: string,
  model: PricingModel,
): Promise<PricingModel> {
  requireOrganizationAccess(caller, organizationId);
  const [organization] = await tx.query('SELECT id FROM organization WHERE id = $1 FOR KEY SHARE', [organizationId]);
  if (!organization) throw notFoundError('organization');
  const before = await lockPricingModel(tx, organizationId);
  await tx.execute(
    `INSERT INTO client_pricing_model (organization_id, pricing_type, block_size, price_micros, minimum_micros)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (organization_id) DO UPDATE
     SET pricing_type = excluded.pricing_type, block_size = excluded.block_size,
         price_micros = excluded.price_micros, minimum_micros = excluded.minimum_micros, updated_at = muster_now()`,
    getPricingModelValues(organizationId, model),
  );
  audit(tx, caller, {
    organizationId,
    action: 'client_pricing.update',
    target: { type: 'organization', id: organizationId },
    changes: listChangedFields(before ? presentPricingModel(before) : {}, presentPricingModel(model)),
  });
  return model;
}

/** Returns the pricing model for charging a run, and locks it until the transaction ends. */
export async function requirePricingModel(
  tx: Transaction,
  caller: Principal,
  organizationId: string,
  { createDefault }: { createDefault: boolean },
): Promise<PricingModel> {
  const model = await lockPricingModel(tx, organizationId);
  if (model) return model;
  if (!createDefault) throw noPricingModelError();
  const inserted = await tx.execute(
    `INSERT INTO client_pricing_model (organization_id, pricing_type, block_size, price_micros, minimum_micros)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    getPricingModelValues(organizationId, defaultModel),
  );
  // The insert had no effect, because a concurrent transaction has just inserted a pricing model. That model is used.
  if (inserted === 0) return (await lockPricingModel(tx, organizationId))!;
  audit(tx, caller, {
    organizationId,
    action: 'client_pricing.create_default',
    target: { type: 'organization', id: organizationId },
    changes: presentPricingModel(defaultModel),
  });
  return defaultModel;
}

export function presentPricingModel(model: PricingModel): ClientPricingModel {
  const pricingType = model.pricingType as PricingType;
  const price = microsToUsd(model.priceMicros);
  const minimumUsd = microsToUsd(model.minimumMicros);
  if (pricingType === 'per_claim') return { pricingType, pricePerClaimUsd: price, minimumUsd };
  if (pricingType === 'flat_per_run') return { pricingType, pricePerRunUsd: price, minimumUsd };
  return { pricingType, blockSize: model.blockSize!, pricePerBlockUsd: price, minimumUsd };
}

async function lockPricingModel(tx: Transaction, organizationId: string): Promise<PricingModel | undefined> {
  const [model] = await tx.query<PricingModel>(
    `SELECT ${columns} FROM client_pricing_model WHERE organization_id = $1 FOR UPDATE`,
    [organizationId],
  );
  return model;
}

function getPricingModelValues(organizationId: string, model: PricingModel): unknown[] {
  return [organizationId, model.pricingType, model.blockSize, model.priceMicros, model.minimumMicros];
}

/** Whether the caller has access to the organization: an admin to the own one, a super_admin to any. */
export function canAccessOrganization(caller: Principal, organizationId: string): boolean {
  return caller.role === 'super_admin' || caller.organizationId === organizationId;
}

function requireOrganizationAccess(caller: Principal, organizationId: string): void {
  if (!canAccessOrganization(caller, organizationId)) throw notFoundError('organization');
}

function noPricingModelError(): AppError {
  return new AppError('pricing_model_missing', { detail: 'The organization has no pricing model. Save one first.' });
}
