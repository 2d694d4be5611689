const isOver = Symbol('over');

/**
 * What the work answers within the time; otherwise what `late` answers or throws, also at once when the signal ends the
 * wait. The work itself goes on, and nobody hears of it any more.
 */
export async function within<T, Late>(
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
