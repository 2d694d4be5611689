import type { ScimGroupRow, ScimPage, ScimUserRow } from '@muster/access';
import {
  maxScimResults,
  type ScimGroup,
  type ScimListQuery,
  type ScimReadQuery,
  scimSchemas,
  type ScimUser,
} from '@muster/contracts';
import { type BaseConfig, getPublicAddress } from '@muster/platform';

/** Base address of SCIM, which admins enter at their identity provider. */
export function getScimAddress(config: BaseConfig): string {
  return `${getPublicAddress(config)}/api/scim/v2`;
}

export function presentUser(row: ScimUserRow, base: string): ScimUser {
  const { id, email, externalId, displayName, givenName, familyName } = row;
  const formatted = [givenName, familyName].filter(Boolean).join(' ');
  return {
    schemas: [scimSchemas.user],
    id,
    ...(externalId ? { externalId } : {}),
    userName: email,
    ...(formatted ? { name: { ...(givenName && { givenName }), ...(familyName && { familyName }), formatted } } : {}),
    ...(displayName ? { displayName } : {}),
    emails: [{ value: email, type: 'work', primary: true }],
    active: !row.disabled,
    groups: row.groups,
    meta: {
      resourceType: 'User',
      created: row.createdAt.toISOString(),
      lastModified: (row.updatedAt ?? row.createdAt).toISOString(),
      location: [base, 'Users', id].join('/'),
    },
  };
}

export function presentGroup(row: ScimGroupRow, base: string): ScimGroup {
  const { id, displayName, externalId, createdAt, updatedAt, members } = row;
  return {
    schemas: [scimSchemas.group],
    id,
    ...(externalId ? { externalId } : {}),
    displayName,
    members,
    meta: {
      resourceType: 'Group',
      created: createdAt.toISOString(),
      lastModified: updatedAt.toISOString(),
      location: [base, 'Groups', id].join('/'),
    },
  };
}

/** Returns the requested attributes of a resource; `schemas` and `id` are always among them (RFC 7644, 3.4.2.5). */
export function selectAttributes<Resource extends object>(
  resource: Resource,
  { attributes, excludedAttributes }: ScimReadQuery,
): Resource {
  const wanted = splitNames(attributes);
  const excluded = splitNames(excludedAttributes);
  if (wanted.length === 0 && excluded.length === 0) return resource;
  const isSelected = (name: string) =>
    ['schemas', 'id'].includes(name) ||
    (wanted.length > 0 ? wanted.includes(name.toLowerCase()) : !excluded.includes(name.toLowerCase()));
  return Object.fromEntries(Object.entries(resource).filter(([name]) => isSelected(name))) as Resource;
}

/** Whether the members of groups need not be read. */
export function excludesMembers({ attributes, excludedAttributes }: ScimReadQuery): boolean {
  const wanted = splitNames(attributes);
  return wanted.length > 0 ? !wanted.includes('members') : splitNames(excludedAttributes).includes('members');
}

/** Returns the names of top-level attributes in lower case: a sub-attribute selects the attribute that contains it. */
function splitNames(text = ''): string[] {
  const names = text.split(',').map(
    (name) =>
      name
        .trim()
        .toLowerCase()
        .replace(/^urn:.*:/, '')
        .split('.')[0]!,
  );
  return names.filter(Boolean);
}

export function readPage({ startIndex = 1, count = 100 }: ScimListQuery): ScimPage {
  // RFC 7644 treats a startIndex below 1 as 1, and a count below 0 as 0.
  return { offset: Math.max(startIndex, 1) - 1, limit: Math.min(Math.max(count, 0), maxScimResults) };
}

export function buildList<Resource>(total: number, { offset }: ScimPage, resources: Resource[]) {
  return {
    schemas: [scimSchemas.list],
    totalResults: total,
    startIndex: offset + 1,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
