import { resolveSecrets } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { ModelPort } from '@muster/models';
import { findOrganizationModel } from './organization-model';
import { createCallMeter } from './create-call-meter';
import type { ModelCaller, ModelParts } from './model-caller';

/**
 * Opens the organization's own model, or else the deployment's. Each call first checks the billing gate and the monthly
 * spend limit (402 billing_gate_closed). Each call is stored with its usage and cost, whatever its outcome.
 * Throws model_not_configured if there is no model.
 */
export async function openModelForCaller(parts: ModelParts, caller: ModelCaller): Promise<ModelPort> {
  const model = await findModelForCaller(parts, caller);
  if (model) return model;
  throw new AppError('model_not_configured', {
    detail: 'No language model is configured for the service or for the organization. Ask an admin to set one.',
  });
}

/**
 * Does the same as openModelForCaller, but returns null if neither the organization nor the deployment has a model.
 */
export async function findModelForCaller(parts: ModelParts, caller: ModelCaller): Promise<ModelPort | null> {
  const { database, models, keyRing } = parts;
  const { organizationId } = caller;
  const meter = createCallMeter(parts, caller);
  const own = await findOrganizationModel(database, organizationId);
  if (!own) return models.openDeploymentModel(meter);
  const { baseUrl, name, visionName, apiKeyVaultKey } = own;
  const { values } = await resolveSecrets(database, keyRing, organizationId, [apiKeyVaultKey]);
  const apiKey = values[apiKeyVaultKey];
  if (apiKey === undefined) {
    throw new AppError('model_not_configured', {
      detail: `The language model of the organization needs the secret ${apiKeyVaultKey}, which is not in the vault. Add it to the vault.`,
    });
  }
  return models.openOwnerModel(organizationId, { baseUrl, name, visionName: visionName ?? name, apiKey }, meter);
}
