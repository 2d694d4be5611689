export interface BackoffLimits {
  firstMs: number;
  capMs: number;
}

export const callbackBackoff: BackoffLimits = { firstMs: 250, capMs: 30_000 };
/** A key that is refused seldom becomes right within seconds. */
export const refusedKeyBackoff: BackoffLimits = { firstMs: 5_000, capMs: 60_000 };

/**
 * Doubles with each attempt, and spreads over its upper half, so that many workers don't return as one wave after an
 * outage. What the service asks for in Retry-After is a lower bound.
 */
export function backoffMs(
  attempt: number,
  limits: BackoffLimits = callbackBackoff,
  retryAfterMs = 0,
  random: () => number = Math.random,
): number {
  const ceiling = Math.min(limits.capMs, limits.firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.max(ceiling * (0.5 + random() / 2), Math.min(retryAfterMs, 5 * 60_000));
}

/** Retry-After holds seconds or a date. */
export function readRetryAfter(header: string | null, now: number): number {
  if (!header) return 0;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}
