import type { Claims } from './identity-providers';
import { SsoRefused } from './sso-refused';

/** Entra sends `xms_edov` instead of `email_verified`: whether the owner of the email domain was verified. */
const entra = /^https:\/\/login\.microsoftonline\.(com|us)\//;

/** Returns the email address of the claims in lower case. Throws SsoRefused unless the provider has verified it. */
export function readVerifiedEmail(claims: Claims, issuer: string): string {
  const { email, email_verified: verified, xms_edov: ownerVerified } = claims;
  if (typeof email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(email) || email.length > 254) {
    throw new SsoRefused('the provider returned no email address');
  }
  if (!isTrueClaim(verified) && !(entra.test(issuer) && verified === undefined && isTrueClaim(ownerVerified))) {
    throw new SsoRefused('the provider has not verified the email address');
  }
  return email.toLowerCase();
}

/** Some providers send booleans as texts or numbers. */
function isTrueClaim(value: unknown): boolean {
  return value === true || value === 'true' || value === 1 || value === '1';
}
