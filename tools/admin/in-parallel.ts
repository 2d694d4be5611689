/** Does each piece of work once, by so many at the same time, each with a thing of its own that is closed at the end. */
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

/** As above, where nothing is opened. */
export function eachOf<Work>(all: readonly Work[], atOnce: number, work: (one: Work) => Promise<void>): Promise<void> {
  return inParallel(
    all,
    Math.min(atOnce, all.length),
    async () => ({ close: async () => undefined }),
    (_, one) => work(one),
  );
}
