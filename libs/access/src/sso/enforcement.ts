import { AppError } from '@muster/contracts';
import type { Database } from '@muster/database';
import { getEmailDomain } from './domains';

/** SQL condition: whether the organization of the user `u` lets the user sign in only with single sign-on. */
export const isSsoEnforcedSql = `u.role <> 'super_admin' AND EXISTS (
  SELECT FROM organization_sso s
  JOIN organization_domain d ON d.organization_id = s.organization_id AND d.domain = ANY(s.domains)
  WHERE s.organization_id = u.organization_id AND s.enforced AND d.proved_at IS NOT NULL
    AND d.domain = substring(u.email from '[^@]*$'))`;

/** SQL condition: whether the user `u` has emergency access. */
export const mayBreakGlassSql = `(u.break_glass AND u.role = 'admin')`;

/** Whether an organization enforces single sign-on for the domain of an address, whether or not it has an account. */
export async function isSsoEnforcedForDomain(database: Database, email: string): Promise<boolean> {
  const rows = await database.query(
    'system',
    `SELECT d.domain FROM organization_domain d
     JOIN organization_sso s ON s.organization_id = d.organization_id AND d.domain = ANY(s.domains)
     WHERE d.domain = $1 AND d.proved_at IS NOT NULL AND s.enforced`,
    [getEmailDomain(email)],
    'enforced_domain',
  );
  return rows.length > 0;
}

/** The error is the same for every address of the domain, so it does not reveal whether the account exists. */
export function ssoRequiredError(): AppError {
  return new AppError('sso_required', {
    detail: 'Your organization requires single sign-on for this email domain. Continue with single sign-on.',
  });
}
