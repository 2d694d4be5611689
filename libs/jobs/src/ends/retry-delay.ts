const maxDelayMs = 24 * 3600 * 1000;

/** Returns the milliseconds between a failed attempt and its retry. `chance` is a random number from 0 to 1. */
export function computeRetryDelayMs(
  policy: { attempt: number; retryBackoff: 'fixed' | 'exponential'; retryDelayMs: number },
  chance: number,
): number {
  const { attempt, retryBackoff, retryDelayMs } = policy;
  if (retryBackoff === 'fixed') return retryDelayMs;
  const backedOff = Math.min(retryDelayMs * 2 ** (attempt - 1), maxDelayMs);
  // The delay is 50 to 100 % of the computed time, at random, so that jobs that failed together are not retried
  // together.
  return Math.round(backedOff * (0.5 + chance / 2));
}
