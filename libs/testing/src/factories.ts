import { hashPassword, newApiKey } from '@muster/access';
import type { ApiKeyScope, Role } from '@muster/contracts';
import {
  AgentEntity,
  ApiKeyEntity,
  type Database,
  OrganizationEntity,
  OrganizationSettingsEntity,
  UserEntity,
} from '@muster/database';
import { newId } from '@muster/platform';
import { createHash } from 'node:crypto';
import { testPassword } from './test-password';

// Rows as a test needs them, without the use cases that usually make them.

let passwordHash: Promise<string> | undefined;

export async function makeOrganization(
  db: Database,
  input: Partial<OrganizationEntity> = {},
): Promise<OrganizationEntity> {
  const id = input.id ?? newId();
  return db.transaction('system', async (tx) => {
    await tx.manager.insert(OrganizationEntity, { id, name: 'Organization', ...input });
    await tx.manager.insert(OrganizationSettingsEntity, { organizationId: id });
    return tx.manager.findOneByOrFail(OrganizationEntity, { id });
  });
}

export async function makeUser(
  db: Database,
  input: { organizationId: string; role?: Role; email?: string; disabled?: boolean },
): Promise<UserEntity> {
  const id = newId();
  // One slow hash for all: every test account has the same password.
  passwordHash ??= hashPassword(testPassword);
  const row = {
    id,
    email: `user-${id}@example.com`,
    role: 'member' as Role,
    passwordHash: await passwordHash,
    ...input,
  };
  return db.transaction('system', async (tx) => {
    await tx.manager.insert(UserEntity, row);
    return tx.manager.findOneByOrFail(UserEntity, { id });
  });
}

export async function makeApiKey(
  db: Database,
  input: { organizationId: string; scope?: ApiKeyScope; agentId?: string | null; expiresAt?: Date | null },
): Promise<{ id: string; secret: string }> {
  const { id, secret } = newApiKey();
  await db.transaction('system', (tx) =>
    tx.manager.insert(ApiKeyEntity, {
      id,
      name: 'test key',
      scope: 'api',
      secretHash: createHash('sha256').update(secret).digest('hex'),
      ...input,
    }),
  );
  return { id, secret };
}

export async function makeAgent(db: Database, input: { organizationId: string; name?: string }): Promise<AgentEntity> {
  const id = newId();
  return db.transaction('system', async (tx) => {
    await tx.manager.insert(AgentEntity, { id, name: 'Front desk', ...input });
    return tx.manager.findOneByOrFail(AgentEntity, { id });
  });
}
