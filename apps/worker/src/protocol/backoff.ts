export interface BackoffLimits {
  firstMs: number;
  capMs: number;
}

export const callbackBackoff: BackoffLimits = { firstMs: 250, capMs: 30_000 };
/**
 * Delays after the service has refused the API key. They are long, because a refused key seldom becomes valid within
 * seconds.
 */
export const refusedKeyBackoff: BackoffLimits = { firstMs: 5_000, capMs: 60_000 };

/**
 * Returns the delay before the next attempt. It doubles with each attempt and is randomized over its upper half, so
 * that many workers do not return at the same time after an outage. Retry-After, up to 5 minutes, is a lower bound.
 */
export function computeBackoffMs(
  attempt: number,
  limits: BackoffLimits = callbackBackoff,
  retryAfterMs = 0,
  random: () => number = Math.random,
): number {
  const ceiling = Math.min(limits.capMs, limits.firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.max(ceiling * (0.5 + random() / 2), Math.min(retryAfterMs, 5 * 60_000));
}

/** Parses a Retry-After header, which contains seconds or a date. */
export function parseRetryAfter(header: string | null, now: number): number {
  if (!header) return 0;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}
