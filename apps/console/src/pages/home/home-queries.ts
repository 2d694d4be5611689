import { useQuery } from '@tanstack/react-query';
import { allOf, firstOf } from '../../api/all-of';
import {
  agentsList,
  costsCosts,
  type Job,
  jobsList,
  jobSummariesActivity,
  jobSummariesFailures,
  usageRead,
} from '../../api/generated';
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

/** What runs of the last 24 hours failed of. */
export function useFailures() {
  return useQuery({
    queryKey: ['runs', 'failures'],
    queryFn: ({ signal }) => jobSummariesFailures({ signal }),
    refetchInterval: pollMs,
  });
}

/** How the runs of today and of yesterday ended, by the hour; as the viewer's days are. */
export function useActivity() {
  const from = new Date(new Date().setHours(0, 0, 0, 0) - dayMs).toISOString();
  return useQuery({
    queryKey: ['activity', from],
    queryFn: ({ signal }) => jobSummariesActivity({ query: { from }, signal }),
    refetchInterval: pollMs,
  });
}

export function useUsage() {
  return useQuery({
    queryKey: ['usage'],
    queryFn: ({ signal }) => usageRead({ signal }),
    refetchInterval: 4 * pollMs,
  });
}

/** What the last 30 days cost, by day. */
export function useMonthCosts() {
  const [from, to] = [dayOf(Date.now() - 29 * dayMs), dayOf(Date.now())];
  return useQuery({
    queryKey: ['costs', from, to],
    queryFn: ({ signal }) => costsCosts({ query: { from, to, groupBy: 'day' }, signal }),
    staleTime: 60_000,
  });
}

/** A day as the API writes it. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
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

/** The runs that wait. Not with each event: there may be many pages of them. */
export function useWaiting() {
  return useQuery({
    queryKey: ['waiting-runs'],
    queryFn: ({ signal }) =>
      allOf(async (page) => {
        const { jobs, nextCursor } = await jobsList({ query: { ...page, status: 'queued', sort: 'queuedAt' }, signal });
        const items = jobs.map(({ agentId, queuedAt, waiting }) => ({ agentId, queuedAt, reason: waiting?.reason }));
        return { items, nextCursor };
      }),
    refetchInterval: 2 * pollMs,
  });
}
