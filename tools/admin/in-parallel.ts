/**
 * Processes each item once with `concurrency` workers. Each worker opens its own resource and closes it at the
 * end.
 */
export async function inParallel<Work, Resource extends { close(): Promise<void> }>(
  all: readonly Work[],
  concurrency: number,
  open: () => Promise<Resource>,
  work: (resource: Resource, one: Work) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const worker = async () => {
    const resource = await open();
    try {
      for (let one = all[next++]; one !== undefined && !failed; one = all[next++]) await work(resource, one);
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      await resource.close();
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: Math.max(1, concurrency) }, worker));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure) throw failure.reason;
}

/** Same as `inParallel`, but without a resource. */
export function eachOf<Work>(
  all: readonly Work[],
  concurrency: number,
  work: (one: Work) => Promise<void>,
): Promise<void> {
  return inParallel(
    all,
    Math.min(concurrency, all.length),
    async () => ({ close: async () => undefined }),
    (_, one) => work(one),
  );
}
