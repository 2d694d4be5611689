import { useQuery } from '@tanstack/react-query';
import { allOf, firstOf } from '../../api/all-of';
import { endedSince } from '../../api/ended-since';
import { agentsList, type Job, jobsList } from '../../api/generated';
import { pollMs } from '../../api/query-client';

export const dayMs = 24 * 60 * 60 * 1000;

/** So many are shown of each kind. */
const most = 8;

export function useRuns(status: Job['status']) {
  return useQuery({
    queryKey: ['runs', 'home', status],
    queryFn: ({ signal }) =>
      firstOf(most, async (page) => {
        const { jobs, nextCursor } = await jobsList({ query: { ...page, status }, signal });
        return { items: jobs, nextCursor };
      }),
    refetchInterval: pollMs,
  });
}

export function useFailedSince(since: string) {
  return useQuery({
    queryKey: ['runs', 'home', 'failed', since],
    queryFn: ({ signal }) => endedSince({ status: 'failed', since, most }, signal),
    refetchInterval: pollMs,
    // Each minute begins another day to look back on.
    placeholderData: (previous) => previous,
  });
}

/** Machines are counted, and any of them may be what needs attention. */
export function useMachines() {
  return useQuery({
    queryKey: ['agents', 'home'],
    queryFn: ({ signal }) =>
      allOf(async (page) => {
        const { agents, nextCursor } = await agentsList({ query: page, signal });
        return { items: agents, nextCursor };
      }),
    refetchInterval: pollMs,
  });
}

/** The machines that runs wait for and do not wake. Not with each event: there may be many pages of what waits. */
export function useAwaited() {
  return useQuery({
    queryKey: ['awaited-machines'],
    queryFn: ({ signal }) =>
      allOf(async (page) => {
        const { jobs, nextCursor } = await jobsList({ query: { ...page, status: 'queued' }, signal });
        return { items: jobs.flatMap(({ agentId, waiting }) => (isHeldUp(waiting) ? [agentId] : [])), nextCursor };
      }),
    refetchInterval: 2 * pollMs,
  });
}

function isHeldUp(waiting: Job['waiting']): boolean {
  return waiting?.reason === 'agent_offline';
}
