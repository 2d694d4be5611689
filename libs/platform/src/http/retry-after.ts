/**
 * Returns the delay in milliseconds that a Retry-After header requests by seconds or by a date. Null if the header is
 * absent or invalid.
 */
export function parseRetryAfterMs(header: string | null | undefined, now: number): number | null {
  if (!header) return null;
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? null : Math.max(ms, 0);
}
