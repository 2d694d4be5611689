const maxDelayMs = 24 * 3600 * 1000;

/** How long after the failure of an attempt the next one may start. Chance is between 0 and 1. */
export function retryDelay(
  policy: { attempt: number; retryBackoff: 'fixed' | 'exponential'; retryDelayMs: number },
  chance: number,
): number {
  const { attempt, retryBackoff, retryDelayMs } = policy;
  if (retryBackoff === 'fixed') return retryDelayMs;
  const backedOff = Math.min(retryDelayMs * 2 ** (attempt - 1), maxDelayMs);
  // Half of it is jitter: what failed together does not come back together.
  return Math.round(backedOff * (0.5 + chance / 2));
}
