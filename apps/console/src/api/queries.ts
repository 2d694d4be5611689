import { queryOptions } from '@tanstack/react-query';
import { agentsRead, jobsRead, questionsRead, rolesList, workflowsRead } from './generated';
import { pollMs } from './query-client';
import { readWithEtag } from './versioned';

export const buildAgentQuery = (id: string) =>
  queryOptions({
    queryKey: ['agent', id],
    queryFn: ({ signal }) => agentsRead({ path: { id }, signal }),
    refetchInterval: pollMs,
  });

export const buildRunQuery = (id: string) =>
  queryOptions({
    queryKey: ['run', id],
    queryFn: ({ signal }) => jobsRead({ path: { id }, signal }),
    refetchInterval: ({ state }) => (state.data && !['queued', 'running'].includes(state.data.status) ? false : pollMs),
  });

/** The four roles and the organization's own roles. */
export const rolesQuery = queryOptions({
  queryKey: ['roles'],
  queryFn: async ({ signal }) => (await rolesList({ signal })).roles,
});

export const buildQuestionQuery = (id: string) =>
  queryOptions({
    queryKey: ['questions', id],
    queryFn: ({ signal }) => questionsRead({ path: { id }, signal }),
  });

export const buildWorkflowQuery = (id: string) =>
  queryOptions({
    queryKey: ['workflow', id],
    queryFn: ({ signal }) => readWithEtag((options) => workflowsRead({ ...options, path: { id }, signal })),
    staleTime: 60_000,
  });
