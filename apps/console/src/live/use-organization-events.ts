import { type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { isTerminalStatus } from '@muster/contracts/words';
import type { Job, OrganizationAlertEvent, OrganizationQuestionEvent, OrganizationResyncEvent } from '../api/generated';
import { pollMs } from '../api/query-client';
import { useCurrentUser } from '../api/session';
import { removeOpenAlert } from '../parts/alert/use-open-alerts';
import { removeOpenQuestion } from '../parts/question/use-open-questions';
import type { StreamEvent } from './event-source';
import { readStream } from './shared-stream';
import { Throttle } from './throttle';

type EventType = 'job' | 'agent' | 'batch' | 'schedule' | 'limit' | 'dead_letter' | 'question' | 'alert';

const events = [
  'job',
  'agent',
  'batch',
  'schedule',
  'limit',
  'dead_letter',
  'question',
  'alert',
  'resync',
] as const satisfies readonly (EventType | OrganizationResyncEvent['type'])[];

/**
 * Prefixes of the query keys that an event affects. If the event has no id, the queries of all resources of its kind
 * are affected.
 */
const keysOf: Record<EventType, (thing: { jobId?: string; agentId?: string }) => QueryKey[]> = {
  job: ({ jobId }) => [['runs'], jobId ? ['run', jobId] : ['run'], ['agents'], ['batches'], ['batch']],
  agent: ({ agentId }) => [['agents'], agentId ? ['agent', agentId] : ['agent']],
  batch: () => [['batches'], ['batch']],
  schedule: () => [['schedules'], ['schedule']],
  limit: () => [['usage']],
  dead_letter: () => [['queues'], ['dead-letters']],
  question: ({ jobId }) => [['questions'], jobId ? ['run', jobId] : ['run']],
  alert: () => [['alerts']],
};

/** Queries of totals over many runs, which change when a run ends. They are read at most once per polling interval. */
const sumsOfRuns: QueryKey[] = [['usage'], ['costs'], ['activity']];

/** Minimum time between two reads, in milliseconds. All events in between cause one read at its end. */
const pauseMs = 600;
/** Maximum number of loaded pages of a list that is refetched. Longer lists are refetched when they are next opened. */
const pagesReadAgain = 2;

/**
 * Reads the organization's stream, which all pages of all tabs share. Each event refetches the queries that it affects.
 * All displayed queries are refetched after each connect, and if the stream cannot resend events that were missed.
 */
export function useOrganizationEvents(): void {
  const { user, organization } = useCurrentUser();
  const client = useQueryClient();
  const scope = `${organization.id} ${user.id}`;
  useEffect(() => {
    const soon = new RefetchQueue(client, pauseMs);
    const later = new RefetchQueue(client, pollMs);
    const refetchEverything = () => {
      soon.markDue(Object.values(keysOf).flatMap((keys) => keys({})));
      later.markDue(sumsOfRuns);
    };
    const onEvent = ({ event, data }: StreamEvent) => {
      if (event === 'resync') return refetchEverything();
      const thing = data as { jobId?: string; status?: Job['status'] };
      soon.markDue(keysOf[event as EventType](thing));
      if (event === 'question') return closeQuestion(client, data as OrganizationQuestionEvent);
      if (event === 'alert') return closeAlert(client, data as OrganizationAlertEvent);
      if (event !== 'job' || !thing.status || !isTerminalStatus(thing.status)) return;
      later.markDue(sumsOfRuns);
      // The cost of a run is booked some time after its end, so totals that are read at its end may not include the run
      // yet.
      setTimeout(() => later.markDue(sumsOfRuns), pauseMs);
    };
    const leave = readStream({ scope, url: '/api/events', events }, { event: onEvent, open: refetchEverything });
    return () => {
      soon.stopRefetching();
      later.stopRefetching();
      leave();
    };
  }, [client, scope]);
}

function closeQuestion(client: QueryClient, { questionId, status }: OrganizationQuestionEvent): void {
  if (status !== 'open') removeOpenQuestion(client, questionId);
}

function closeAlert(client: QueryClient, { alertId, status }: OrganizationAlertEvent): void {
  if (status === 'resolved') removeOpenAlert(client, alertId);
}

/** Refetches marked queries at once, and again only after the last refetch, so that no slow response is discarded. */
class RefetchQueue {
  private readonly due = new Map<string, QueryKey>();
  private readonly throttle: Throttle;

  constructor(
    private readonly client: QueryClient,
    everyMs: number,
  ) {
    this.throttle = new Throttle(() => this.refetchDue(), everyMs);
  }

  markDue(keys: QueryKey[]): void {
    for (const key of keys) this.due.set(JSON.stringify(key), key);
    this.throttle.requestCall();
  }

  stopRefetching(): void {
    this.throttle.stopCalls();
  }

  private refetchDue(): Promise<unknown> {
    const keys = [...this.due.values()];
    this.due.clear();
    return Promise.all(keys.map((queryKey) => refetchShortLists(this.client, queryKey)));
  }
}

function refetchShortLists(client: QueryClient, queryKey: QueryKey): Promise<void> {
  return client.invalidateQueries({
    queryKey,
    predicate: ({ state }) => ((state.data as { pages?: unknown[] })?.pages?.length ?? 0) <= pagesReadAgain,
  });
}
