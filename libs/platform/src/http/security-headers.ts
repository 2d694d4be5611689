/** Policy of responses that are not pages: browsers must not run or frame them. */
const answersPolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Returns the headers of every response. A page replaces the policy with its own (`buildPagePolicy`). */
export function buildSecurityHeaders(publicAppUrl: string | undefined): Readonly<Record<string, string>> {
  return {
    'x-content-type-options': 'nosniff',
    'content-security-policy': answersPolicy,
    'x-frame-options': 'DENY',
    // With the value no-referrer, browsers would send the forms of the service's own pages without an Origin header.
    'referrer-policy': 'same-origin',
    // Makes browsers use only https for a year, which cannot be revoked. They ignore the header over plain http.
    ...(publicAppUrl?.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
}

/** Returns the policy of a page that loads everything from this service, with further directives. */
export function buildPagePolicy(...more: string[]): string {
  return [
    "default-src 'self'",
    "object-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    ...more,
  ].join('; ');
}
