import { firstOf, type Found } from './all-of';
import { type Job, jobsList } from './generated';

/**
 * Runs of a status that ended since then, the latest first, whenever they were queued: the API's `from` is about that,
 * and a run may wait and run for a day.
 */
export function endedSince(
  { status, since, most }: { status: 'completed' | 'failed'; since: string; most: number },
  signal: AbortSignal,
): Promise<Found<Job>> {
  return firstOf(most, async (page) => {
    const { jobs, nextCursor } = await jobsList({ query: { ...page, status, sort: '-finishedAt' }, signal });
    const items = jobs.filter(({ finishedAt }) => finishedAt !== null && finishedAt >= since);
    return { items, nextCursor: items.length < jobs.length ? null : nextCursor };
  });
}
