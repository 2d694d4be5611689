import { queryOptions } from '@tanstack/react-query';
import { agentsRead, jobsRead, questionsRead, workflowsRead } from './generated';
import { pollMs } from './query-client';
import { withEtag } from './versioned';

export const agentQuery = (id: string) =>
  queryOptions({
    queryKey: ['agent', id],
    queryFn: ({ signal }) => agentsRead({ path: { id }, signal }),
    refetchInterval: pollMs,
  });

export const runQuery = (id: string) =>
  queryOptions({
    queryKey: ['run', id],
    queryFn: ({ signal }) => jobsRead({ path: { id }, signal }),
    refetchInterval: ({ state }) => (state.data && !['queued', 'running'].includes(state.data.status) ? false : pollMs),
  });

export const questionQuery = (id: string) =>
  queryOptions({
    queryKey: ['questions', id],
    queryFn: ({ signal }) => questionsRead({ path: { id }, signal }),
  });

export const workflowQuery = (id: string) =>
  queryOptions({
    queryKey: ['workflow', id],
    queryFn: ({ signal }) => withEtag((options) => workflowsRead({ ...options, path: { id }, signal })),
    staleTime: 60_000,
  });
