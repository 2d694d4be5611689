const maxDelayMs = 24 * 3600 * 1000;

/**
 * Returns the time in milliseconds between a failed attempt and the next one. `chance` is a random number from 0 to 1.
 */
export function retryDelay(
  policy: { attempt: number; retryBackoff: 'fixed' | 'exponential'; retryDelayMs: number },
  chance: number,
): number {
  const { attempt, retryBackoff, retryDelayMs } = policy;
  if (retryBackoff === 'fixed') return retryDelayMs;
  const backedOff = Math.min(retryDelayMs * 2 ** (attempt - 1), maxDelayMs);
  // Half of the delay is jitter, so that jobs that failed together do not retry together.
  return Math.round(backedOff * (0.5 + chance / 2));
}
