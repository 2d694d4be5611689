const idleWithinMs = 2000;

/** Calls back when the browser is idle, or after 2 s if it lacks requestIdleCallback (Safari). Returns the cancel. */
export function callWhenIdle(call: () => void): () => void {
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(call, idleWithinMs);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(call, { timeout: idleWithinMs });
  return () => cancelIdleCallback(handle);
}
