/**
 * Until the time is over or one of the signals says so. Not by AbortSignal.any: what that hangs onto a signal that
 * lives as long as the worker stays there, and a worker lives for months.
 */
export function rest(ms: number, ...signals: AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const release = onFirst(ms, signals, () => {
      release();
      resolve();
    });
  });
}

/** Gives the work a signal that is aborted after a time, or by one of the others. */
export async function within<T>(
  ms: number,
  signals: AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const release = onFirst(ms, signals, (late) => {
    controller.abort(late ? new Error(`no answer within ${ms} ms`) : undefined);
  });
  try {
    return await work(controller.signal);
  } finally {
    release();
  }
}

function onFirst(ms: number, signals: AbortSignal[], then: (late: boolean) => void): () => void {
  const onAbort = (): void => then(false);
  // An aborted signal is heard like one that is aborted just now: after the caller has what it needs.
  const isOver = signals.some(({ aborted }) => aborted);
  const timer = setTimeout(() => then(!isOver), isOver ? 0 : ms);
  for (const signal of signals) signal.addEventListener('abort', onAbort);
  return () => {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener('abort', onAbort);
  };
}
