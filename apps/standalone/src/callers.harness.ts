import { type Role, roles } from '@muster/contracts';
import type { HttpClient, Tenant } from '@muster/testing';
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
