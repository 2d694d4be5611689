import { readFirstItems, type Found } from './read-all-items';
import { type Job, jobsList } from './generated';

/**
 * Returns runs with this status that ended at or after `since`, latest first. The API's `from` filters by the time at
 * which a run was queued, which can be a day before its end.
 */
export function readRunsEndedSince(
  { status, since, most }: { status: 'completed' | 'failed'; since: string; most: number },
  signal: AbortSignal,
): Promise<Found<Job>> {
  return readFirstItems(most, async (page) => {
    const { jobs, nextCursor } = await jobsList({ query: { ...page, status, sort: '-finishedAt' }, signal });
    const items = jobs.filter(({ finishedAt }) => finishedAt !== null && finishedAt >= since);
    return { items, nextCursor: items.length < jobs.length ? null : nextCursor };
  });
}
