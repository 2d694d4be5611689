import type { QueryClient } from '@tanstack/react-query';

const idleWithinMs = 2000;

/**
 * Calls back when the browser is idle and no request of the page is in progress, so that scripts for later do not delay
 * the first screen. Returns the cancel.
 */
export function callWhenLoaded(client: QueryClient, call: () => void): () => void {
  let cancel: () => void;
  const waitUntilIdle = () => {
    cancel = callWhenIdle(() => (client.isFetching() === 0 ? call() : waitForResponses()));
  };
  const waitForResponses = () => {
    cancel = client.getQueryCache().subscribe(() => {
      if (client.isFetching() > 0) return;
      cancel();
      // A response can cause further requests, such as of the part of the page that shows it.
      waitUntilIdle();
    });
  };
  waitUntilIdle();
  return () => cancel();
}

/** Calls back when the browser is idle, or after 2 s if it lacks requestIdleCallback (Safari). Returns the cancel. */
function callWhenIdle(call: () => void): () => void {
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(call, idleWithinMs);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(call, { timeout: idleWithinMs });
  return () => cancelIdleCallback(handle);
}
