import { isDeepStrictEqual } from 'node:util';
import { AppError, hasPermissionsOf, invalidFieldError, type PutSsoBody, type RoleHolder } from '@muster/contracts';
import type { Database, OrganizationSsoEntity, Transaction } from '@muster/database';
import { isLoopback, Round, type SweepCounts } from '@muster/platform';
import { type KeyRing, openEnvelope, sealValue } from '@muster/vault';
import { audit, listChangedFields } from '../audit/audit';
import type { Principal } from '../principal';
import { applyGroupRoles } from '../scim/group-roles';
import { chooseHighestRole, listProvidableRoles } from '../users/provided-roles';
import { rewrapOrganizationRows } from '../vault/rewrap-organization-rows';
import { claimDomains, normalizeDomains } from './domains';

/** The provider of an organization as admins see it, without the client secret. */
export type SsoSettings = Pick<
  OrganizationSsoEntity,
  | 'issuer'
  | 'clientId'
  | 'domains'
  | 'roleClaim'
  | 'roleMap'
  | 'enforced'
  | 'requiredAcr'
  | 'requiredAmr'
  | 'maxAgeSeconds'
>;

/** The provider of an organization with the opened client secret. */
export type SsoProvider = SsoSettings & { organizationId: string; clientSecret: string };

const columns =
  'issuer, client_id, domains, role_claim, role_map, enforced, required_acr, required_amr, max_age_seconds';

/** Returns the settings; throws not_found if the organization has no provider. */
export async function readSsoSettings(database: Database, organizationId: string): Promise<SsoSettings> {
  const [row] = await database.query<SsoSettings & object>(
    { organizationId },
    `SELECT ${columns} FROM organization_sso WHERE organization_id = $1`,
    [organizationId],
    'read_sso',
  );
  if (!row) throw ssoNotConfiguredError();
  return row;
}

/** Returns the settings with the opened client secret; throws not_found if the organization has no provider. */
export async function readSsoProvider(
  database: Database,
  keyRing: KeyRing,
  organizationId: string,
): Promise<SsoProvider> {
  const [row] = await database.query<OrganizationSsoEntity>(
    { organizationId },
    `SELECT ${columns}, master_key_id, wrapped_key, sealed FROM organization_sso WHERE organization_id = $1`,
    [organizationId],
    'open_sso',
  );
  if (!row) throw ssoNotConfiguredError();
  const { masterKeyId, wrappedKey, sealed, ...settings } = row;
  const envelope = { masterKeyId, wrappedKey, sealed };
  const clientSecret = openEnvelope(keyRing, buildAssociatedData(organizationId), envelope);
  return { ...settings, organizationId, clientSecret };
}

/** Sets the provider, in a transaction of the system scope, because domains are compared over all organizations. */
export async function putSsoSettings(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  body: PutSsoBody,
): Promise<SsoSettings> {
  requireRightsOfAdmin(caller);
  const { organizationId } = caller;
  const settings = checkSsoSettings(body);
  await requireProvidableRoles(tx, organizationId, settings.roleMap);
  await claimDomains(tx, organizationId, settings.domains);
  const [before] = await tx.query<OrganizationSsoEntity>(
    `SELECT ${columns}, master_key_id, wrapped_key, sealed FROM organization_sso WHERE organization_id = $1 FOR UPDATE`,
    [organizationId],
  );
  const envelope = body.clientSecret
    ? sealValue(keyRing, buildAssociatedData(organizationId), body.clientSecret)
    : requireSameProvider(before, settings);
  await tx.execute(
    `INSERT INTO organization_sso
       (organization_id, issuer, client_id, master_key_id, wrapped_key, sealed, domains, role_claim, role_map, enforced,
        required_acr, required_amr, max_age_seconds)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12, $13)
     ON CONFLICT (organization_id) DO UPDATE
     SET issuer = excluded.issuer, client_id = excluded.client_id, master_key_id = excluded.master_key_id,
         wrapped_key = excluded.wrapped_key, sealed = excluded.sealed, domains = excluded.domains,
         role_claim = excluded.role_claim, role_map = excluded.role_map, enforced = excluded.enforced, required_acr = excluded.required_acr,
         required_amr = excluded.required_amr, max_age_seconds = excluded.max_age_seconds`,
    [
      ...[organizationId, settings.issuer, settings.clientId],
      ...[envelope.masterKeyId, envelope.wrappedKey, envelope.sealed, settings.domains, settings.roleClaim],
      ...[settings.roleMap && JSON.stringify(settings.roleMap), settings.enforced],
      ...[settings.requiredAcr, settings.requiredAmr, settings.maxAgeSeconds],
    ],
  );
  audit(tx, caller, {
    action: 'organization.put_sso',
    target: { type: 'organization', id: organizationId },
    changes: {
      ...listChangedFields(before ?? {}, settings),
      ...(before && body.clientSecret ? { clientSecretChanged: true } : {}),
    },
  });
  // The roles of SCIM groups follow the map too.
  if (!isDeepStrictEqual(before?.roleMap ?? null, settings.roleMap)) await applyGroupRoles(tx, organizationId, null);
  return settings;
}

/** Removes the provider. The proofs of the domains stay. */
export async function deleteSsoSettings(tx: Transaction, caller: Principal): Promise<void> {
  const { organizationId } = caller;
  const deleted = await tx.execute('DELETE FROM organization_sso WHERE organization_id = $1', [organizationId]);
  if (deleted === 0) throw ssoNotConfiguredError();
  await applyGroupRoles(tx, organizationId, null);
  audit(tx, caller, { action: 'organization.delete_sso', target: { type: 'organization', id: organizationId } });
}

/** The provider decides who is an admin. An own role with fewer rights could otherwise make its users admins. */
function requireRightsOfAdmin(caller: Principal): void {
  if (hasPermissionsOf(caller, { role: 'admin' })) return;
  throw new AppError('permission_denied', {
    detail: 'Single sign-on decides who is an admin, so only a user with all permissions of an admin can change it.',
  });
}

/** Rewraps the client secrets with the active master key, so that an old master key can be removed from the ring. */
export function rewrapSsoSecrets(
  database: Database,
  keyRing: KeyRing,
  round = new Round('rewrap single sign-on'),
): Promise<SweepCounts<'rewrapped'>> {
  return rewrapOrganizationRows(database, keyRing, round, {
    ...{ name: 'single sign-on', table: 'organization_sso', row: 'client secret' },
    update: 'UPDATE organization_sso SET master_key_id = $2, wrapped_key = $3 WHERE organization_id = $1',
    buildAssociatedData,
  });
}

function checkSsoSettings(body: PutSsoBody): SsoSettings {
  const { issuer, clientId, domains, roleClaim, roleMap, enforced } = body;
  checkIssuerUrl(issuer);
  if (roleMap && !roleClaim) {
    throw invalidFieldError('roleClaim', 'roleClaim is required with roleMap', 'A role map needs a role claim.');
  }
  return {
    ...{ issuer, clientId, domains: normalizeDomains(domains), enforced },
    ...{ roleClaim: roleClaim ?? null, roleMap: roleMap ?? null },
    ...{ requiredAcr: body.requiredAcr ?? [], requiredAmr: body.requiredAmr ?? [] },
    maxAgeSeconds: body.maxAgeSeconds ?? null,
  };
}

/** Throws unless the roles exist. A provider of an organization cannot give rights over other organizations. */
async function requireProvidableRoles(
  tx: Transaction,
  organizationId: string,
  roleMap: Record<string, string> | null,
): Promise<void> {
  const names = (await listProvidableRoles(tx, organizationId)).map(({ role }) => role);
  for (const [value, role] of Object.entries(roleMap ?? {})) {
    if (names.includes(role)) continue;
    const detail = `The role of ${value} must be one of ${names.join(', ')}.`;
    throw invalidFieldError('roleMap', detail, detail);
  }
}

/** Throws unless the tokens and the client secret are encrypted on their way to the provider. */
function checkIssuerUrl(text: string): void {
  const { protocol, hostname, search, hash, username, password } = new URL(text);
  const fail = (detail: string) => {
    throw invalidFieldError('issuer', detail, detail);
  };
  if (protocol !== 'https:' && !isLoopback(hostname)) {
    fail('The issuer must use https; http is accepted only on a loopback address.');
  }
  if (search || hash || username || password) {
    fail('The issuer must be an address without a query, a fragment or credentials.');
  }
}

/**
 * Returns the sealed secret that stays in use. An admin who changes the issuer must know the secret, because otherwise
 * the service would send a secret that the admin cannot read to an address that the admin chose.
 */
function requireSameProvider(before: OrganizationSsoEntity | undefined, { issuer, clientId }: SsoSettings) {
  if (before?.issuer === issuer && before.clientId === clientId) return before;
  throw invalidFieldError(
    'clientSecret',
    'clientSecret is required',
    'Enter the client secret: it is required for a new provider and for a new client ID.',
  );
}

/** Returns the role with the most permissions that the claims give; null if the provider decides about no roles. */
export function chooseProvidedRole(
  claims: Record<string, unknown>,
  { roleClaim, roleMap }: Pick<SsoSettings, 'roleClaim' | 'roleMap'>,
  roles: readonly RoleHolder[],
): RoleHolder | null {
  if (roleClaim === null) return null;
  const values = [claims[roleClaim]].flat().filter((value) => typeof value === 'string');
  const names = roleMap ? values.map((value) => (Object.hasOwn(roleMap, value) ? roleMap[value] : null)) : values;
  return chooseHighestRole(roles.filter(({ role }) => names.includes(role)));
}

/** The associated data that binds the sealed secret to its organization. */
function buildAssociatedData(organizationId: string): string {
  return `${organizationId}/sso/client-secret`;
}

function ssoNotConfiguredError(): AppError {
  return new AppError('not_found', { detail: 'The organization has not set up single sign-on.' });
}
