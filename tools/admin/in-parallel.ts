/**
 * Processes each item once with `atOnce` concurrent workers. Each worker opens its own resource and closes it at the
 * end.
 */
export async function inParallel<Work, Thing extends { close(): Promise<void> }>(
  all: readonly Work[],
  atOnce: number,
  open: () => Promise<Thing>,
  work: (thing: Thing, one: Work) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const worker = async () => {
    const thing = await open();
    try {
      for (let one = all[next++]; one !== undefined && !failed; one = all[next++]) await work(thing, one);
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      await thing.close();
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: Math.max(1, atOnce) }, worker));
  const fault = outcomes.find((outcome) => outcome.status === 'rejected');
  if (fault) throw fault.reason;
}

/** Same as `inParallel`, but without a resource. */
export function eachOf<Work>(all: readonly Work[], atOnce: number, work: (one: Work) => Promise<void>): Promise<void> {
  return inParallel(
    all,
    Math.min(atOnce, all.length),
    async () => ({ close: async () => undefined }),
    (_, one) => work(one),
  );
}
