import { resolveSecrets } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { ModelPort } from '@muster/models';
import { findOrganizationModel } from './organization-model';
import { meterCalls } from './meter-calls';
import type { ModelCaller, ModelParts } from './model-caller';

/**
 * The model that holds for the organization, its own or the deployment's. Each call asks the billing gate and the
 * month's spend limit first (402 billing_gate_closed), and is a row with what it used and cost, whatever became of it.
 * Throws model_not_configured where there is none.
 */
export async function openModel(parts: ModelParts, caller: ModelCaller): Promise<ModelPort> {
  const model = await findModel(parts, caller);
  if (model) return model;
  throw new AppError('model_not_configured', {
    detail: 'There is no language model: the deployment has none, and the organization has brought none.',
  });
}

/** As openModel; null where there is none. */
export async function findModel(parts: ModelParts, caller: ModelCaller): Promise<ModelPort | null> {
  const { database, models, keyRing } = parts;
  const { organizationId } = caller;
  const meter = meterCalls(parts, caller);
  const own = await findOrganizationModel(database, organizationId);
  if (!own) return models.ofDeployment(meter);
  const { baseUrl, name, visionName, apiKeyVaultKey } = own;
  const { values } = await resolveSecrets(database, keyRing, organizationId, [apiKeyVaultKey]);
  const apiKey = values[apiKeyVaultKey];
  if (apiKey === undefined) {
    throw new AppError('model_not_configured', {
      detail: `The organization’s own model is called with the secret ${apiKeyVaultKey}, which the vault does not have.`,
    });
  }
  return models.ofOwner(organizationId, { baseUrl, name, visionName: visionName ?? name, apiKey }, meter);
}
