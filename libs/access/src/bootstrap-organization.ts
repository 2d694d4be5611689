import { passwordLength } from '@muster/contracts';
import { type Database, acquireAdvisoryLock, UserEntity } from '@muster/database';
import { newId } from '@muster/platform';
import type { Actor } from './audit/audit';
import { parseApiKeyId } from './authentication/credentials';
import type { Passwords } from './authentication/passwords';
import { insertApiKey } from './api-keys/api-keys';
import { insertOrganization } from './organizations/organizations';
import { checkPasswordRules } from './users/password-rules';
import { insertUser } from './users/users';

export interface BootstrapInput {
  organization: string;
  adminEmail?: string;
  adminPassword?: string;
  superAdminEmail?: string;
  superAdminPassword?: string;
  apiKey?: string;
  workerKey?: string;
}

/** Returns the errors of the values; each error names its environment variable. */
export function checkBootstrapInput(input: BootstrapInput): string[] {
  const pairs = listBootstrapSignIns(input);
  const keys = [
    ['BOOTSTRAP_API_KEY', input.apiKey],
    ['BOOTSTRAP_WORKER_KEY', input.workerKey],
  ] as const;
  return [
    ...pairs
      .filter(([, email, , password]) => Boolean(email) !== Boolean(password))
      .map(([emailName, , passwordName]) => `${emailName} and ${passwordName} belong together; set both or neither`),
    ...pairs
      .filter(([, , , password]) => password !== undefined && password.length < 8)
      .map(
        ([, , passwordName]) => `${passwordName} must have ${passwordLength.min} to ${passwordLength.max} characters`,
      ),
    ...keys
      .filter(([, key]) => key !== undefined && parseApiKeyId(key) === null)
      .map(([name]) => `${name} must have the form msk_<id>_<secret>, with an id of 8 to 32 characters of a-z and 0-9`),
  ];
}

function listBootstrapSignIns(input: BootstrapInput) {
  return [
    ['BOOTSTRAP_ADMIN_EMAIL', input.adminEmail, 'BOOTSTRAP_ADMIN_PASSWORD', input.adminPassword],
    ['BOOTSTRAP_SUPER_ADMIN_EMAIL', input.superAdminEmail, 'BOOTSTRAP_SUPER_ADMIN_PASSWORD', input.superAdminPassword],
  ] as const;
}

/** Creates the first organization if there is none, and returns whether it did. Any number of processes may call it. */
export async function bootstrapOrganization(
  database: Database,
  passwords: Passwords,
  input: BootstrapInput,
): Promise<boolean> {
  const faults = checkBootstrapInput(input);
  if (faults.length) throw new Error(faults.join('; '));
  return database.transaction('system', async (tx) => {
    await acquireAdvisoryLock(tx, 'bootstrap');
    const [existing] = await tx.query('SELECT id FROM organization LIMIT 1');
    if (existing) return false;
    // Checked only if the accounts are created: passwords that an older version accepted must not prevent a start.
    for (const [, email, name, password] of listBootstrapSignIns(input)) {
      const fault = email && password ? checkPasswordRules(password, email) : null;
      if (fault) throw new Error(`${name} ${fault}`);
    }
    const organizationId = newId();
    const actor: Actor = { kind: 'system', id: 'bootstrap', organizationId };
    await insertOrganization(tx, actor, { id: organizationId, name: input.organization });
    if (input.adminEmail) {
      await insertUser(tx, actor, {
        organizationId,
        email: input.adminEmail,
        passwordHash: await passwords.hashNewPassword(input.adminPassword!, {
          email: input.adminEmail,
          field: 'BOOTSTRAP_ADMIN_PASSWORD',
        }),
        role: 'admin',
      });
    }
    if (
      input.superAdminEmail &&
      !(await tx.manager.existsBy(UserEntity, { email: input.superAdminEmail.toLowerCase() }))
    ) {
      await insertUser(tx, actor, {
        organizationId,
        email: input.superAdminEmail,
        passwordHash: await passwords.hashNewPassword(input.superAdminPassword!, { email: input.superAdminEmail }),
        role: 'super_admin',
        mustEnrol: true,
      });
    }
    for (const [name, scope, chosenSecret] of [
      ['bootstrap', 'api', input.apiKey],
      ['bootstrap worker', 'worker', input.workerKey],
    ] as const) {
      if (chosenSecret)
        await insertApiKey(tx, actor, { organizationId, name, scope, agentId: null, expiresAt: null, chosenSecret });
    }
    return true;
  });
}
