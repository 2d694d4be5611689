/** Waits for `ms` milliseconds. Rejects with the signal's reason if the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const rejectOnAbort = () => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', rejectOnAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', rejectOnAbort, { once: true });
  });
}
