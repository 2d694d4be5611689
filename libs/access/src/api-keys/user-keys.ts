import { type ApiKeyRole, hasPermissionsOf, type RoleHolder } from '@muster/contracts';
import type { Transaction, UserEntity } from '@muster/database';

/**
 * Returns the highest role of a key that has no permission beyond its owner's; null if every role of a key has more,
 * as for an owner whose own role allows less than viewer.
 */
export function chooseRoleOfUserKeys(owner: RoleHolder): ApiKeyRole | null {
  return (['member', 'viewer'] as const).find((role) => hasPermissionsOf(owner, { role })) ?? null;
}

/** Deletes the keys that a user's device sign-ins created. */
export async function revokeKeysOfUser(
  tx: Transaction,
  { id, organizationId }: Pick<UserEntity, 'id' | 'organizationId'>,
): Promise<void> {
  await tx.execute('DELETE FROM api_key WHERE user_id = $1 AND organization_id = $2', [id, organizationId]);
}

/**
 * Limits the API keys that users created by device sign-in to what their role allows: lowers a key's role, or deletes
 * the key.
 */
export async function downgradeKeysOfUsers(
  tx: Transaction,
  organizationId: string,
  userIds: readonly string[],
  owner: RoleHolder,
): Promise<void> {
  const role = chooseRoleOfUserKeys(owner);
  const keys = 'user_id = ANY($1) AND organization_id = $2';
  if (role === null) await tx.execute(`DELETE FROM api_key WHERE ${keys}`, [userIds, organizationId]);
  else if (role === 'viewer')
    await tx.execute(`UPDATE api_key SET role = 'viewer' WHERE ${keys}`, [userIds, organizationId]);
}
