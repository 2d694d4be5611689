/** For answers that are no page: nothing of them may run, and nobody may frame them. */
const answersPolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Every answer carries these; a page replaces the policy by one of its own (`pagePolicy`). */
export function securityHeaders(publicAppUrl: string | undefined): Readonly<Record<string, string>> {
  return {
    'x-content-type-options': 'nosniff',
    'content-security-policy': answersPolicy,
    'x-frame-options': 'DENY',
    // Not no-referrer: with that, browsers send a form of our own pages as one of nobody's.
    'referrer-policy': 'same-origin',
    // Over plain http it would mean nothing, and behind https it is a promise that people can't take back for a year.
    ...(publicAppUrl?.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
}

/** A page that has everything from here, and what it says beside that. */
export function pagePolicy(...more: string[]): string {
  return [
    "default-src 'self'",
    "object-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    ...more,
  ].join('; ');
}
