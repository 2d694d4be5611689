/**
 * Processes each item once with `concurrency` workers. Each worker opens its own resource and closes it at the
 * end.
 */
export async function runInParallel<Work, Resource extends { close(): Promise<void> }>(
  all: readonly Work[],
  concurrency: number,
  open: () => Promise<Resource>,
  work: (resource: Resource, one: Work) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const runWorker = async () => {
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
  const outcomes = await Promise.allSettled(Array.from({ length: Math.max(1, concurrency) }, runWorker));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure) throw failure.reason;
}

/** Same as `runInParallel`, but without a resource. */
export function runForEach<Work>(
  all: readonly Work[],
  concurrency: number,
  work: (one: Work) => Promise<void>,
): Promise<void> {
  return runInParallel(
    all,
    Math.min(concurrency, all.length),
    async () => ({ close: async () => undefined }),
    (_, one) => work(one),
  );
}
