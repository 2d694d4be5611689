import { notFoundError, type UpdateOrganizationBody } from '@muster/contracts';
import {
  type Database,
  containsIgnoringCaseSql,
  OrganizationEntity,
  OrganizationSettingsEntity,
  type Transaction,
  type UserEntity,
} from '@muster/database';
import { newId, type Page } from '@muster/platform';
import { type Actor, audit, listChangedFields } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import type { Principal } from '../principal';
import { readProvedDomains, setProvedDomains } from '../sso/domains';
import { insertUser } from '../users/users';

export function listOrganizations(
  database: Database,
  { page, q }: { page: Page; q?: string | undefined },
): Promise<OrganizationRow[]> {
  return database.transaction('system', async (tx) => {
    const organizations = tx.manager
      .createQueryBuilder(OrganizationEntity, 'o')
      .orderBy('o.id')
      .limit(page.limit + 1);
    if (q) organizations.andWhere(containsIgnoringCaseSql('o.name', ':q'), { q });
    if (page.after) organizations.andWhere('o.id > :after', { after: page.after[0] });
    const rows = await organizations.getMany();
    const domains = await readProvedDomains(
      tx,
      rows.map(({ id }) => id),
    );
    return rows.map((row) => ({ ...row, domains: domains.get(row.id) ?? [] }));
  });
}

export function findOrganization(database: Database, id: string): Promise<OrganizationRow> {
  return database.transaction('system', async (tx) => attachProvedDomains(tx, await loadOrganizationForChange(tx, id)));
}

/** Creates an organization with its settings and its first admin. */
export async function createOrganization(
  tx: Transaction,
  actor: Actor | Principal,
  { name, adminEmail, adminPasswordHash }: { name: string; adminEmail: string; adminPasswordHash: string },
): Promise<{ organization: OrganizationRow; admin: UserEntity }> {
  const organization = await insertOrganization(tx, actor, { id: newId(), name });
  const admin = await insertUser(tx, actor, {
    organizationId: organization.id,
    email: adminEmail,
    passwordHash: adminPasswordHash,
    role: 'admin',
  });
  return { organization: { ...organization, domains: [] }, admin };
}

export async function insertOrganization(
  tx: Transaction,
  actor: Actor | Principal,
  { id, name }: { id: string; name: string },
): Promise<OrganizationEntity> {
  await tx.manager.insert(OrganizationEntity, { id, name });
  await tx.manager.insert(OrganizationSettingsEntity, { organizationId: id });
  audit(tx, actor, {
    action: 'organization.create',
    target: { type: 'organization', id },
    changes: { name },
    organizationId: id,
  });
  return tx.manager.findOneByOrFail(OrganizationEntity, { id });
}

/** An organization with its proved email domains. */
export type OrganizationRow = OrganizationEntity & { domains: string[] };

/** Renames or suspends an organization, or sets its proved email domains. A suspended one can read but launch nothing: its billing gate is closed. */
export async function updateOrganization(
  tx: Transaction,
  caller: Principal,
  id: string,
  change: UpdateOrganizationBody,
): Promise<OrganizationRow> {
  const before = await loadOrganizationForChange(tx, id);
  const after = { name: change.name ?? before.name, suspended: change.suspended ?? before.suspended };
  await tx.manager.update(OrganizationEntity, { id }, after);
  const domains = change.domains && (await setProvedDomains(tx, id, change.domains));
  await dropCachedPrincipals(tx);
  audit(tx, caller, {
    action: after.suspended && !before.suspended ? 'organization.suspend' : 'organization.update',
    target: { type: 'organization', id },
    changes: {
      ...listChangedFields(before, after),
      ...(domains ? listChangedFields({ domains: domains.before }, { domains: domains.after }) : {}),
    },
    organizationId: id,
  });
  return attachProvedDomains(tx, { ...before, ...after });
}

async function attachProvedDomains(tx: Transaction, organization: OrganizationEntity): Promise<OrganizationRow> {
  const domains = (await readProvedDomains(tx, [organization.id])).get(organization.id) ?? [];
  return { ...organization, domains };
}

async function loadOrganizationForChange(tx: Transaction, id: string): Promise<OrganizationEntity> {
  const organization = await tx.manager.findOneBy(OrganizationEntity, { id });
  if (!organization) throw notFoundError('organization');
  return organization;
}
