import type { Client } from 'pg';
import { type Environment, isLoopback } from '@muster/platform';
import { queryRows } from '../backup/dump-database';

/**
 * Returns the number of super_admins who can sign in with a password alone at a public address. The super_admin of the
 * configuration must have a second factor there, unless an earlier version created the account.
 */
export async function countSingleFactorSuperAdmins(client: Client, { PUBLIC_APP_URL }: Environment): Promise<number> {
  if (!PUBLIC_APP_URL || !URL.canParse(PUBLIC_APP_URL) || isLoopback(new URL(PUBLIC_APP_URL).hostname)) return 0;
  const [{ users }] = await queryRows<{ users: number }>(
    client,
    `SELECT count(*)::int AS users FROM app_user u JOIN organization_settings s ON s.organization_id = u.organization_id
     WHERE u.role = 'super_admin' AND NOT u.disabled AND u.second_factor_since IS NULL
       AND NOT u.must_enrol AND NOT s.require_second_factor`,
  );
  return users;
}
