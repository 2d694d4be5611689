import { isEmailAddress, type ScimOperation, scimSchemas, type ScimUserBody } from '@muster/contracts';
import { readPatchSteps } from './patch-operations';
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
export function readUserBody({ userName, externalId, name, displayName, active }: ScimUserBody) {
  return {
    userName: readUserName(userName),
    ...(active === undefined ? {} : { active: readActive(active) }),
    externalId: readText('externalId', externalId),
    displayName: readText('displayName', displayName),
    givenName: readText('name.givenName', name?.['givenName']),
    familyName: readText('name.familyName', name?.['familyName']),
  };
}

/**
 * Returns the changes of a PATCH request. Attributes that this service does not store are ignored, because providers
 * send whatever their administrators have mapped.
 */
export function readUserPatch(operations: readonly ScimOperation[]): ScimUserChange {
  const change: ScimUserChange = {};
  for (const { verb, path, value } of readPatchSteps(operations, scimSchemas.user)) {
    if (verb === 'remove' && (path === 'username' || path === 'active'))
      throw scimError('mutability', 'userName and active cannot be removed.');
    Object.assign(change, readAttribute(path!, verb === 'remove' ? null : value));
  }
  return change;
}

function readAttribute(path: string, value: unknown): ScimUserChange {
  switch (path) {
    case 'username':
      return { userName: readUserName(value) };
    case 'active':
      return { active: readActive(value) };
    case 'externalid':
      return { externalId: readText('externalId', value) };
    case 'displayname':
      return { displayName: readText('displayName', value) };
    case 'name.givenname':
      return { givenName: readText('name.givenName', value) };
    case 'name.familyname':
      return { familyName: readText('name.familyName', value) };
    case 'name':
      return readName(value);
    default:
      return {};
  }
}

function readName(value: unknown): ScimUserChange {
  if (value === null) return { givenName: null, familyName: null };
  if (typeof value !== 'object') throw scimError('invalidValue', 'name must be an object.');
  const name = value as Record<string, unknown>;
  return {
    ...(name['givenName'] === undefined ? {} : { givenName: readText('name.givenName', name['givenName']) }),
    ...(name['familyName'] === undefined ? {} : { familyName: readText('name.familyName', name['familyName']) }),
  };
}

function readUserName(value: unknown): string {
  if (typeof value === 'string' && isEmailAddress(value)) return value.toLowerCase();
  throw scimError('invalidValue', 'userName must be the email address of the user.');
}

/** Entra sends the texts "True" and "False" in its older form. */
function readActive(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (text === 'true' || text === 'false') return text === 'true';
  throw scimError('invalidValue', 'active must be true or false.');
}

function readText(name: string, value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value === 'string' && value.length <= 300) return value;
  throw scimError('invalidValue', `${name} must be a text of at most 300 characters.`);
}
