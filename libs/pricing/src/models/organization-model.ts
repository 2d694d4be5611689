import { audit, type Principal, requireExistingSecrets } from '@muster/access';
import { AppError, invalidFieldError, type PutOrganizationModelBody } from '@muster/contracts';
import { type Database, acquireAdvisoryLock, type OrganizationModelEntity, type Transaction } from '@muster/database';
import type { Models } from '@muster/models';
import { toEtag, OutboundRefused, requireEtagMatch, computeContentRevision } from '@muster/platform';

export type OrganizationModelRow = Pick<OrganizationModelEntity, 'baseUrl' | 'name' | 'visionName' | 'apiKeyVaultKey'>;

/** Finds the organization's own model; null if it has none. */
export async function findOrganizationModel(
  database: Database,
  organizationId: string,
): Promise<OrganizationModelRow | null> {
  const [row] = await database.query<OrganizationModelRow>(
    { organizationId },
    'SELECT base_url, name, vision_name, api_key_vault_key FROM organization_model WHERE organization_id = $1',
    [organizationId],
    'find_organization_model',
  );
  return row ?? null;
}

export function hashModelRevision({ baseUrl, name, visionName, apiKeyVaultKey }: OrganizationModelRow): string {
  return computeContentRevision([baseUrl, name, visionName, apiKeyVaultKey]);
}

/** Throws invalid_payload if outbound requests to the model's address are not allowed. */
export async function checkModelAddress(models: Models, baseUrl: string): Promise<void> {
  try {
    await models.checkModelAddress(baseUrl);
  } catch (error) {
    if (error instanceof OutboundRefused)
      throw invalidFieldError('baseUrl', `baseUrl cannot be called: ${error.message}`);
    throw error;
  }
}

export async function putOrganizationModel(
  tx: Transaction,
  caller: Principal,
  { baseUrl, name, visionName, apiKeyVaultKey }: PutOrganizationModelBody,
  ifMatch: string | undefined,
): Promise<OrganizationModelRow> {
  const { organizationId } = caller;
  await requireUnchangedModel(tx, organizationId, ifMatch);
  const model: OrganizationModelRow = { baseUrl, name, visionName: visionName ?? null, apiKeyVaultKey };
  await requireExistingSecrets(tx, organizationId, [apiKeyVaultKey], {
    fieldAt: () => 'apiKeyVaultKey',
    valuesOnly: true,
  });
  tx.deferStatement(
    `INSERT INTO organization_model (organization_id, base_url, name, vision_name, api_key_vault_key)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (organization_id) DO UPDATE SET base_url = excluded.base_url, name = excluded.name,
       vision_name = excluded.vision_name, api_key_vault_key = excluded.api_key_vault_key`,
    [organizationId, baseUrl, name, model.visionName, apiKeyVaultKey],
  );
  audit(tx, caller, {
    action: 'organization.put_model',
    target: { type: 'organization', id: organizationId },
    changes: model,
  });
  return model;
}

export async function deleteOrganizationModel(
  tx: Transaction,
  caller: Principal,
  ifMatch: string | undefined,
): Promise<void> {
  const { organizationId } = caller;
  await requireUnchangedModel(tx, organizationId, ifMatch);
  const touched = await tx.execute('DELETE FROM organization_model WHERE organization_id = $1', [organizationId]);
  if (touched === 0)
    throw new AppError('not_found', { detail: 'The organization has not set its own language model.' });
  audit(tx, caller, { action: 'organization.delete_model', target: { type: 'organization', id: organizationId } });
}

/**
 * Locks the organization's model, so that changes run one at a time, and throws precondition_failed if `ifMatch` is not
 * its current revision. Without a model, no revision matches.
 */
async function requireUnchangedModel(
  tx: Transaction,
  organizationId: string,
  ifMatch: string | undefined,
): Promise<void> {
  await acquireAdvisoryLock(tx, 'organization_model', organizationId);
  if (ifMatch === undefined) return;
  const [row] = await tx.query<OrganizationModelRow>(
    'SELECT base_url, name, vision_name, api_key_vault_key FROM organization_model WHERE organization_id = $1',
    [organizationId],
  );
  if (row) return requireEtagMatch(ifMatch, toEtag(hashModelRevision(row)));
  throw new AppError('precondition_failed', {
    detail: 'The language model of the organization was removed in the meantime. Try again.',
  });
}
