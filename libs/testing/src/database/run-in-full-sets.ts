/**
 * Runs concurrent works so that all of them that arrive during a set of shared transactions are in the next set. The
 * clock of the sets stands still, because a set that takes longer than 20 ms, as on a busy machine, lets the next one
 * start beside it.
 */
export function runInFullSets<T>(start: () => Promise<T>): Promise<T> {
  const { now } = performance;
  const stoppedAt = performance.now();
  performance.now = () => stoppedAt;
  return start().finally(() => (performance.now = now));
}
