import { hash } from '@node-rs/argon2';
import { generateApiKey } from '@muster/access';
import type { ApiKeyScope } from '@muster/contracts';
import {
  AgentEntity,
  ApiKeyEntity,
  type Database,
  JobEntity,
  OrganizationEntity,
  OrganizationSettingsEntity,
  UserEntity,
  WorkflowEntity,
  WorkflowRevisionEntity,
} from '@muster/database';
import { newId } from '@muster/platform';
import { createHash } from 'node:crypto';
import { testPassword } from './test-password';

// Functions that insert rows directly, without the use cases that usually create them.

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
  input: { organizationId: string; role?: string; email?: string; disabled?: boolean },
): Promise<UserEntity> {
  const id = newId();
  // All test accounts have the same password, so one hash is computed for all. Its parameters are weak, because each
  // test signs in four times.
  passwordHash ??= hash(testPassword, { memoryCost: 64, timeCost: 1, parallelism: 1 });
  const row = {
    id,
    email: `user-${id}@example.com`,
    role: 'member',
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
  const { id, secret } = generateApiKey();
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

export async function makeAgent(
  db: Database,
  input: Partial<AgentEntity> & { organizationId: string },
): Promise<AgentEntity> {
  const id = newId();
  return db.transaction('system', async (tx) => {
    await tx.manager.insert(AgentEntity, { id, name: 'Front desk', ...input } as never);
    return tx.manager.findOneByOrFail(AgentEntity, { id });
  });
}

export interface TestWorkflow {
  id: string;
  organizationId: string;
}

export async function makeWorkflow(
  db: Database,
  input: { organizationId: string; name?: string; script?: string; variables?: string[] },
): Promise<TestWorkflow> {
  const { organizationId, name = 'Download EOBs', script = "print('hello')\n", variables = [] } = input;
  const id = newId();
  await db.transaction('system', async (tx) => {
    await tx.manager.insert(WorkflowEntity, { id, organizationId, name });
    await tx.manager.insert(WorkflowRevisionEntity, {
      workflowId: id,
      revision: 1,
      organizationId,
      script,
      variables,
      savedBy: 'test',
    });
  });
  return { id, organizationId };
}

/** Creates a job, with a new workflow and a new agent unless they are passed. */
export async function makeJob(
  db: Database,
  input: Partial<JobEntity> & { organizationId: string },
): Promise<{ id: string; agentId: string; workflowId: string }> {
  const { organizationId } = input;
  const workflowId = input.workflowId ?? (await makeWorkflow(db, { organizationId })).id;
  const agentId = input.agentId ?? (await makeAgent(db, { organizationId, name: `Agent of ${newId()}` })).id;
  const id = newId();
  await db.transaction('system', async (tx) => {
    await tx.manager.insert(JobEntity, { id, workflowRevision: 1, ...input, workflowId, agentId } as never);
    await tx.execute('INSERT INTO job_log_seen (job_id, organization_id) VALUES ($1, $2)', [id, organizationId]);
  });
  return { id, agentId, workflowId };
}
