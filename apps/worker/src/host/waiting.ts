/**
 * Waits until the time is over or one of the signals is aborted. It does not use AbortSignal.any, which leaves
 * listeners on signals that live as long as the worker, and a worker lives for months.
 */
export function waitUnlessAborted(ms: number, ...signals: AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const release = onTimeoutOrAbort(ms, signals, () => {
      release();
      resolve();
    });
  });
}

/** Calls `work` with a signal that is aborted after `ms` milliseconds, or when one of `signals` is aborted. */
export async function withTimeout<T>(
  ms: number,
  signals: AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const release = onTimeoutOrAbort(ms, signals, (late) => {
    controller.abort(late ? new Error(`no answer within ${ms} ms`) : undefined);
  });
  try {
    return await work(controller.signal);
  } finally {
    release();
  }
}

function onTimeoutOrAbort(ms: number, signals: AbortSignal[], then: (late: boolean) => void): () => void {
  const onAbort = (): void => then(false);
  // A signal that is already aborted takes effect asynchronously, after the caller has received the function.
  const isOver = signals.some(({ aborted }) => aborted);
  const timer = setTimeout(() => then(!isOver), isOver ? 0 : ms);
  for (const signal of signals) signal.addEventListener('abort', onAbort);
  return () => {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener('abort', onAbort);
  };
}
