import { useQuery } from '@tanstack/react-query';
import { readAllItems, readFirstItems } from '../../api/read-all-items';
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
import { usePermission } from '../../api/session';

export const dayMs = 24 * 60 * 60 * 1000;

/** Maximum number of runs shown for each status. */
const most = 8;

export function useRunsWithStatus(status: Job['status']) {
  return useQuery({
    enabled: usePermission('runs.read'),
    queryKey: ['runs', 'home', status],
    queryFn: ({ signal }) =>
      readFirstItems(most, async (page) => {
        const { jobs, nextCursor } = await jobsList({ query: { ...page, status }, signal });
        return { items: jobs, nextCursor };
      }),
    refetchInterval: pollMs,
  });
}

/** Causes of the runs that failed in the last 24 hours. */
export function useRecentFailures() {
  return useQuery({
    enabled: usePermission('runs.read'),
    queryKey: ['runs', 'failures'],
    queryFn: ({ signal }) => jobSummariesFailures({ signal }),
    refetchInterval: pollMs,
  });
}

/** Outcomes of the runs of today and yesterday by hour. Days are in the viewer's time zone. */
export function useActivity() {
  const from = new Date(new Date().setHours(0, 0, 0, 0) - dayMs).toISOString();
  return useQuery({
    enabled: usePermission('runs.read'),
    queryKey: ['activity', from],
    queryFn: ({ signal }) => jobSummariesActivity({ query: { from }, signal }),
    refetchInterval: pollMs,
  });
}

export function useUsage() {
  return useQuery({
    enabled: usePermission('costs.read'),
    queryKey: ['usage'],
    queryFn: ({ signal }) => usageRead({ signal }),
    refetchInterval: 4 * pollMs,
  });
}

/** Cost of the last 30 days by day. */
export function useMonthCosts() {
  const [from, to] = [formatUtcDay(Date.now() - 29 * dayMs), formatUtcDay(Date.now())];
  return useQuery({
    enabled: usePermission('costs.read'),
    queryKey: ['costs', from, to],
    queryFn: ({ signal }) => costsCosts({ query: { from, to, groupBy: 'day' }, signal }),
    staleTime: 60_000,
  });
}

/** Day in the format of the API: YYYY-MM-DD, in UTC. */
export function formatUtcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Reads all agents, because the home page counts them and any agent may need attention. */
export function useMachines() {
  return useQuery({
    enabled: usePermission('agents.read'),
    queryKey: ['agents', 'home'],
    queryFn: ({ signal }) =>
      readAllItems(async (page) => {
        const { agents, nextCursor } = await agentsList({ query: page, signal });
        return { items: agents, nextCursor };
      }),
    refetchInterval: pollMs,
  });
}

/** Queued runs. They are polled instead of refetched at every event, because there may be many pages. */
export function useWaitingRuns() {
  return useQuery({
    enabled: usePermission('runs.read'),
    queryKey: ['waiting-runs'],
    queryFn: ({ signal }) =>
      readAllItems(async (page) => {
        const { jobs, nextCursor } = await jobsList({ query: { ...page, status: 'queued', sort: 'queuedAt' }, signal });
        const items = jobs.map(({ agentId, queuedAt, waiting }) => ({ agentId, queuedAt, reason: waiting?.reason }));
        return { items, nextCursor };
      }),
    refetchInterval: 2 * pollMs,
  });
}
