import { type Role, roles } from '@muster/contracts';
import type { Harness, HttpClient, Tenant } from '@muster/testing';
import type { Access } from './walk-openapi';

/** Splits an organization's clients into those that a route admits and those that it rejects. */
export function listCallers(tenant: Tenant, access: Access): { admitted: HttpClient[]; refused: HttpClient[] } {
  const admitted: HttpClient[] = [];
  const refused: HttpClient[] = [];
  const keys = { api: tenant.api, worker: tenant.worker };
  for (const scope of ['api', 'worker'] as const) (access.keys.includes(scope) ? admitted : refused).push(keys[scope]);
  for (const role of roles) {
    const enough = access.sessions !== null && roles.indexOf(role) >= roles.indexOf(access.sessions as Role);
    (enough ? admitted : refused).push(tenant.as[role]);
  }
  return { admitted, refused };
}

/** Inserts the optional settings of an organization, so that the routes that read them find some. */
export async function insertOwnSettings(database: Harness['db'], organizationId: string): Promise<void> {
  await database.query(
    'system',
    `INSERT INTO organization_model (organization_id, base_url, name, api_key_vault_key)
     VALUES ($1, 'https://models.example.com/v1', 'own', 'OWN_MODEL_KEY')`,
    [organizationId],
  );
  await database.query(
    'system',
    `INSERT INTO organization_sso
       (organization_id, issuer, client_id, master_key_id, wrapped_key, sealed, domains, enforced)
     VALUES ($1, 'https://idp.example.com', 'muster', 'test', '', '', '{}', false)`,
    [organizationId],
  );
}
