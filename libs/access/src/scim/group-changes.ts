import { maxScimMembers, type ScimGroupBody, type ScimOperation, scimSchemas } from '@muster/contracts';
import { parsePatchSteps } from './patch-operations';
import { scimError } from './scim-error';

/** A change of a group's members. `set` replaces all of them. */
export interface MemberStep {
  verb: 'add' | 'remove' | 'set';
  userIds: string[];
}

export interface ScimGroupChange {
  displayName?: string;
  externalId?: string | null;
  members: MemberStep[];
}

/** Returns all attributes of a new or replaced group. */
export function parseGroupBody({ displayName, externalId, members = [] }: ScimGroupBody) {
  return {
    displayName,
    externalId: externalId || null,
    members: [{ verb: 'set', userIds: parseMembers(members) }],
  } satisfies ScimGroupChange;
}

/** Returns the changes of a PATCH request. Attributes that this service does not store are ignored. */
export function parseGroupPatch(operations: readonly ScimOperation[]): ScimGroupChange {
  const change: ScimGroupChange = { members: [] };
  for (const { verb, path, value } of parsePatchSteps(operations, scimSchemas.group)) {
    const removed = /^members\[\s*value\s+eq\s+"([^"]*)"\s*\]$/.exec(path ?? '')?.[1];
    if (removed !== undefined) {
      if (verb !== 'remove') throw scimError('invalidPath', 'A path with one member can only be removed.');
      change.members.push({ verb, userIds: [removed] });
    } else if (path === 'members') {
      change.members.push(parseMemberStep(verb, value));
    } else if (path === 'displayname') {
      change.displayName = parseDisplayName(verb === 'remove' ? null : value);
    } else if (path === 'externalid') {
      change.externalId = verb === 'remove' || typeof value !== 'string' ? null : value.slice(0, 300);
    }
  }
  return change;
}

function parseMemberStep(verb: 'add' | 'replace' | 'remove', value: unknown): MemberStep {
  // Okta removes all members with a path alone, and Entra lists the members to remove.
  if (verb === 'remove' && (value === undefined || value === null)) return { verb: 'set', userIds: [] };
  const members = Array.isArray(value) ? (value as unknown[]) : [value];
  return { verb: verb === 'replace' ? 'set' : verb, userIds: parseMembers(members) };
}

function parseMembers(members: unknown[]): string[] {
  if (members.length > maxScimMembers)
    throw scimError('invalidValue', `One operation can name at most ${maxScimMembers} members. Send several.`);
  return [...new Set(members.map(parseMemberId))];
}

function parseMemberId(member: unknown): string {
  const value = typeof member === 'object' && member !== null ? (member as Record<string, unknown>)['value'] : member;
  if (typeof value === 'string') return value.toLowerCase();
  throw scimError('invalidValue', 'Each member must be an object with the id of a user as its value.');
}

function parseDisplayName(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= 200) return value;
  throw scimError('invalidValue', 'displayName must be a text of at most 200 characters.');
}
