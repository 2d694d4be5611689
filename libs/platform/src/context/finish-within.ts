const isOver = Symbol('over');

/**
 * Returns the result of the work if it finishes in time. If the time is over or the signal aborts first, calls `late`
 * and returns its result or throws its error. The work itself continues, and its result is ignored.
 */
export async function finishWithin<T, Late>(
  limitMs: number,
  work: Promise<T>,
  late: (ended: boolean) => Late,
  signal?: AbortSignal,
): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined;
  let end: (() => void) | undefined;
  const over = new Promise<typeof isOver>((resolve) => {
    end = () => resolve(isOver);
    timer = setTimeout(end, limitMs);
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end, { once: true });
  });
  work.catch(() => undefined);
  try {
    const first = await Promise.race([work, over]);
    return first === isOver ? late(signal?.aborted === true) : first;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end!);
  }
}
