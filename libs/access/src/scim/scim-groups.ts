import { AppError } from '@muster/contracts';
import {
  acquireAdvisoryLock,
  type Database,
  getViolatedConstraint,
  type ScimGroupEntity,
  type Transaction,
} from '@muster/database';
import { isUuid, newId } from '@muster/platform';
import { audit } from '../audit/audit';
import type { MemberStep, ScimGroupChange } from './group-changes';
import { applyGroupRoles } from './group-roles';
import type { ScimFilter } from './parse-filter';
import { buildScimActor } from './scim-actor';
import { scimError } from './scim-error';
import type { ScimPage } from './scim-users';

export interface ScimGroupRow extends Pick<
  ScimGroupEntity,
  'id' | 'displayName' | 'externalId' | 'createdAt' | 'updatedAt'
> {
  members: { value: string; display: string }[];
}

/** Maximum number of groups of an organization. */
const maxGroups = 1000;

const columns = 'g.id, g.display_name, g.external_id, g.created_at, g.updated_at';
const members = `COALESCE((SELECT jsonb_agg(jsonb_build_object('value', u.id, 'display', u.email) ORDER BY u.id)
    FROM scim_group_member m JOIN app_user u ON u.id = m.user_id WHERE m.group_id = g.id), '[]') AS members`;

export const groupFilters = ['displayName', 'externalId', 'id', 'members.value'] as const;

/** Lists groups. `bare` leaves out the members, which can be many. */
export function listScimGroups(
  database: Database,
  organizationId: string,
  { filter, bare, offset, limit }: ScimPage & { filter: ScimFilter | null; bare: boolean },
): Promise<{ total: number; rows: ScimGroupRow[] }> {
  const [condition, value] = buildGroupCondition(filter);
  const from = `scim_group g WHERE g.organization_id = $1 AND ($2::text IS NULL OR ${condition})`;
  return database.transaction({ organizationId }, async (tx) => {
    const [count] = await tx.query<{ total: number }>(`SELECT count(*)::integer AS total FROM ${from}`, [
      organizationId,
      value,
    ]);
    const rows = await tx.query<ScimGroupRow>(
      `SELECT ${columns}, ${bare ? "'[]'::jsonb AS members" : members} FROM ${from} ORDER BY g.id OFFSET $3 LIMIT $4`,
      [organizationId, value, offset, limit],
    );
    return { total: count!.total, rows };
  });
}

function buildGroupCondition(filter: ScimFilter | null): [sql: string, value: string | null] {
  if (filter === null) return ['true', null];
  const { attribute, value } = filter;
  if (attribute === 'externalid') return ['g.external_id = $2', value];
  if (attribute === 'id') return ['g.id::text = $2', value.toLowerCase()];
  if (attribute === 'displayname') return ['lower(g.display_name) = lower($2)', value];
  const isMember = 'EXISTS (SELECT FROM scim_group_member m WHERE m.group_id = g.id AND m.user_id::text = $2)';
  return [isMember, value.toLowerCase()];
}

export function findScimGroup(database: Database, organizationId: string, id: string): Promise<ScimGroupRow> {
  return database.transaction({ organizationId }, (tx) => loadScimGroup(tx, organizationId, id));
}

export async function createScimGroup(
  tx: Transaction,
  organizationId: string,
  change: ScimGroupChange & { displayName: string },
): Promise<ScimGroupRow> {
  await lockScimGroups(tx, organizationId);
  const [count] = await tx.query<{ groups: number }>(
    'SELECT count(*)::integer AS groups FROM scim_group WHERE organization_id = $1',
    [organizationId],
  );
  if (count!.groups >= maxGroups)
    throw new AppError('conflict', { detail: `An organization has at most ${maxGroups} groups.` });
  const id = newId();
  const { displayName, externalId = null } = change;
  await writeUniquelyNamedGroup(
    tx,
    `INSERT INTO scim_group (id, organization_id, display_name, external_id, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $5)`,
    [id, organizationId, displayName, externalId, tx.now],
  );
  const added = await changeGroupMembers(tx, organizationId, { id, before: [], steps: change.members });
  await applyGroupRoles(tx, organizationId, added);
  audit(tx, buildScimActor(organizationId), {
    action: 'scim_group.create',
    target: { type: 'scim_group', id },
    changes: { displayName, members: added.length },
  });
  return loadScimGroup(tx, organizationId, id);
}

/** Changes the name and the members of a group, and the roles that the members have because of it. */
export async function updateScimGroup(
  tx: Transaction,
  organizationId: string,
  { id, change }: { id: string; change: ScimGroupChange },
): Promise<ScimGroupRow> {
  await lockScimGroups(tx, organizationId);
  const group = await loadScimGroup(tx, organizationId, id);
  const { displayName = group.displayName, externalId = group.externalId } = change;
  await writeUniquelyNamedGroup(
    tx,
    'UPDATE scim_group SET display_name = $3, external_id = $4, updated_at = $5 WHERE organization_id = $2 AND id = $1',
    [group.id, organizationId, displayName, externalId, tx.now],
  );
  const before = group.members.map(({ value }) => value);
  const changed = await changeGroupMembers(tx, organizationId, { id: group.id, before, steps: change.members });
  const isRenamed = displayName !== group.displayName;
  await applyGroupRoles(tx, organizationId, isRenamed ? [...new Set([...before, ...changed])] : changed);
  if (isRenamed || changed.length > 0) {
    audit(tx, buildScimActor(organizationId), {
      action: 'scim_group.update',
      target: { type: 'scim_group', id: group.id },
      changes: {
        ...(isRenamed ? { displayName: [group.displayName, displayName] } : {}),
        ...(changed.length > 0 ? { members: changed } : {}),
      },
    });
  }
  return loadScimGroup(tx, organizationId, group.id);
}

export async function deleteScimGroup(tx: Transaction, organizationId: string, id: string): Promise<void> {
  await lockScimGroups(tx, organizationId);
  const group = await loadScimGroup(tx, organizationId, id);
  await tx.execute('DELETE FROM scim_group WHERE organization_id = $1 AND id = $2', [organizationId, group.id]);
  const userIds = group.members.map(({ value }) => value);
  await applyGroupRoles(tx, organizationId, userIds);
  audit(tx, buildScimActor(organizationId), {
    action: 'scim_group.delete',
    target: { type: 'scim_group', id: group.id },
    changes: { displayName: group.displayName, members: userIds.length },
  });
}

/** Applies the steps in their order, and returns the users who were added or removed. */
async function changeGroupMembers(
  tx: Transaction,
  organizationId: string,
  { id, before, steps }: { id: string; before: readonly string[]; steps: readonly MemberStep[] },
): Promise<string[]> {
  const after = new Set(before);
  for (const { verb, userIds } of steps) {
    if (verb === 'set') after.clear();
    for (const userId of userIds) {
      if (verb === 'remove') after.delete(userId);
      else after.add(userId);
    }
  }
  const added = [...after].filter((userId) => !before.includes(userId));
  const removed = before.filter((userId) => !after.has(userId));
  await requireExistingUsers(tx, organizationId, added);
  await tx.execute('DELETE FROM scim_group_member WHERE group_id = $1 AND user_id = ANY($2)', [id, removed]);
  await tx.execute(
    `INSERT INTO scim_group_member (group_id, user_id, organization_id)
     SELECT $1, user_id, $3 FROM unnest($2::uuid[]) AS added (user_id)`,
    [id, added, organizationId],
  );
  return [...added, ...removed];
}

/** Throws unless the provider sees all of these users. Locks them, so that none changes before the transaction ends. */
async function requireExistingUsers(tx: Transaction, organizationId: string, ids: readonly string[]): Promise<void> {
  const valid = ids.filter(isUuid);
  const rows = await tx.query<{ id: string }>(
    `SELECT u.id FROM app_user u LEFT JOIN scim_user s ON s.user_id = u.id
     WHERE u.organization_id = $1 AND u.id = ANY($2) AND NOT (u.disabled AND s.deleted_at IS NOT NULL)
     ORDER BY u.id FOR UPDATE OF u`,
    [organizationId, valid],
  );
  const known = new Set(rows.map(({ id }) => id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw scimError('invalidValue', `There is no user with the id ${unknown.slice(0, 100)}.`);
}

async function writeUniquelyNamedGroup(tx: Transaction, sql: string, values: unknown[]): Promise<void> {
  try {
    await tx.execute(sql, values);
  } catch (error) {
    if (getViolatedConstraint(error) !== 'scim_group_name_key') throw error;
    throw scimError('uniqueness', 'A group with this displayName already exists.');
  }
}

async function loadScimGroup(tx: Transaction, organizationId: string, id: string): Promise<ScimGroupRow> {
  const [group] = isUuid(id)
    ? await tx.query<ScimGroupRow>(
        `SELECT ${columns}, ${members} FROM scim_group g WHERE g.organization_id = $1 AND g.id = $2`,
        [organizationId, id],
      )
    : [];
  if (!group) throw new AppError('not_found', { detail: 'There is no group with this id.' });
  return group;
}

/** Serializes the changes of an organization's groups, so that roles are computed from all of them. */
function lockScimGroups(tx: Transaction, organizationId: string): Promise<void> {
  return acquireAdvisoryLock(tx, 'scim groups', organizationId);
}
