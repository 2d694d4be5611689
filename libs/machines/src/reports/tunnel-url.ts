import { invalidFieldError } from '@muster/contracts';

const hostPattern = /^[a-z0-9.-]+(:\d{1,5})?$/i;

/**
 * Returns the URL of a tunnel from the worker's report, which is a host name or a complete http(s) URL. Null if the
 * report is empty.
 */
export function parseTunnelUrl(reported: string | null | undefined, field = 'tunnelHostname'): string | null {
  if (!reported) return null;
  const text = hostPattern.test(reported) ? `https://${reported}` : reported;
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url && !url.username && !url.password && !url.search && !url.hash;
  if (!plain || !['http:', 'https:'].includes(url.protocol)) {
    throw invalidFieldError(
      field,
      `${field} must be a host name or an http(s) URL`,
      `${field} must be a host name or an http(s) URL.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}
