import { isEmailAddress, type ScimOperation, scimSchemas, type ScimUserBody } from '@muster/contracts';
import { parsePatchSteps } from './patch-operations';
import { scimError } from './scim-error';

/** Attributes of a user to change; an absent attribute stays as it is. */
export interface ScimUserChange {
  userName?: string;
  active?: boolean;
  externalId?: string | null;
  displayName?: string | null;
  givenName?: string | null;
  familyName?: string | null;
}

/** Returns all attributes of a new or replaced user. An attribute that the provider leaves out is removed. */
export function parseUserBody({ userName, externalId, name, displayName, active }: ScimUserBody) {
  return {
    userName: parseUserName(userName),
    ...(active === undefined ? {} : { active: parseActiveFlag(active) }),
    externalId: parseAttributeText('externalId', externalId),
    displayName: parseAttributeText('displayName', displayName),
    givenName: parseAttributeText('name.givenName', name?.['givenName']),
    familyName: parseAttributeText('name.familyName', name?.['familyName']),
  };
}

/**
 * Returns the changes of a PATCH request. Attributes that this service does not store are ignored, because providers
 * send whatever their administrators have mapped.
 */
export function parseUserPatch(operations: readonly ScimOperation[]): ScimUserChange {
  const change: ScimUserChange = {};
  for (const { verb, path, value } of parsePatchSteps(operations, scimSchemas.user)) {
    if (verb === 'remove' && (path === 'username' || path === 'active'))
      throw scimError('mutability', 'userName and active cannot be removed.');
    Object.assign(change, parseUserAttribute(path!, verb === 'remove' ? null : value));
  }
  return change;
}

function parseUserAttribute(path: string, value: unknown): ScimUserChange {
  switch (path) {
    case 'username':
      return { userName: parseUserName(value) };
    case 'active':
      return { active: parseActiveFlag(value) };
    case 'externalid':
      return { externalId: parseAttributeText('externalId', value) };
    case 'displayname':
      return { displayName: parseAttributeText('displayName', value) };
    case 'name.givenname':
      return { givenName: parseAttributeText('name.givenName', value) };
    case 'name.familyname':
      return { familyName: parseAttributeText('name.familyName', value) };
    case 'name':
      return parsePersonName(value);
    default:
      return {};
  }
}

function parsePersonName(value: unknown): ScimUserChange {
  if (value === null) return { givenName: null, familyName: null };
  if (typeof value !== 'object') throw scimError('invalidValue', 'name must be an object.');
  const name = value as Record<string, unknown>;
  return {
    ...(name['givenName'] === undefined ? {} : { givenName: parseAttributeText('name.givenName', name['givenName']) }),
    ...(name['familyName'] === undefined
      ? {}
      : { familyName: parseAttributeText('name.familyName', name['familyName']) }),
  };
}

function parseUserName(value: unknown): string {
  if (typeof value === 'string' && isEmailAddress(value)) return value.toLowerCase();
  throw scimError('invalidValue', 'userName must be the email address of the user.');
}

/** Entra sends the texts "True" and "False" in its older form. */
function parseActiveFlag(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (text === 'true' || text === 'false') return text === 'true';
  throw scimError('invalidValue', 'active must be true or false.');
}

function parseAttributeText(name: string, value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value === 'string' && value.length <= 300) return value;
  throw scimError('invalidValue', `${name} must be a text of at most 300 characters.`);
}
