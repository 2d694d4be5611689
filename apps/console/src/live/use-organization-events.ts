import { type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { isTerminal } from '@muster/contracts/words';
import type { Job, OrganizationQuestionEvent, OrganizationResyncEvent } from '../api/generated';
import { pollMs } from '../api/query-client';
import { useMe } from '../api/session';
import { removeOpenQuestion } from '../parts/question/use-open-questions';
import type { StreamEvent } from './event-source';
import { readStream } from './shared-stream';
import { Throttle } from './throttle';

type EventType = 'job' | 'agent' | 'batch' | 'schedule' | 'limit' | 'dead_letter' | 'question';

const events = [
  'job',
  'agent',
  'batch',
  'schedule',
  'limit',
  'dead_letter',
  'question',
  'resync',
] as const satisfies readonly (EventType | OrganizationResyncEvent['type'])[];

/** What is shown of each, by the beginnings of the queries' keys; without a thing of those of all of them. */
const keysOf: Record<EventType, (thing: { jobId?: string; agentId?: string }) => QueryKey[]> = {
  job: ({ jobId }) => [['runs'], jobId ? ['run', jobId] : ['run'], ['agents'], ['batches'], ['batch']],
  agent: ({ agentId }) => [['agents'], agentId ? ['agent', agentId] : ['agent']],
  batch: () => [['batches'], ['batch']],
  schedule: () => [['schedules'], ['schedule']],
  limit: () => [['usage']],
  dead_letter: () => [['queues'], ['dead-letters']],
  question: ({ jobId }) => [['questions'], jobId ? ['run', jobId] : ['run']],
};

/** What the end of a run adds to: sums over many runs, for which one waits between two looks as long as for a poll. */
const sumsOfRuns: QueryKey[] = [['usage'], ['costs'], ['activity']];

/** What is heard again within it is one more look at its end. */
const pauseMs = 600;
/** Somebody who has scrolled further reads; those pages are looked at again when they are come back to. */
const pagesReadAgain = 2;

/**
 * One stream of the organization for all pages of all tabs: what is heard is a hint to look again. After a gap that the
 * stream cannot fill, and whenever it stands again, everything that is shown is looked at.
 */
export function useOrganizationEvents(): void {
  const { user, organization } = useMe();
  const client = useQueryClient();
  const scope = `${organization.id} ${user.id}`;
  useEffect(() => {
    const soon = new Looking(client, pauseMs);
    const later = new Looking(client, pollMs);
    const everything = () => {
      soon.mark(Object.values(keysOf).flatMap((keys) => keys({})));
      later.mark(sumsOfRuns);
    };
    const heard = ({ event, data }: StreamEvent) => {
      if (event === 'resync') return everything();
      const thing = data as { jobId?: string; status?: Job['status'] };
      soon.mark(keysOf[event as EventType](thing));
      if (event === 'question') return closeQuestion(client, data as OrganizationQuestionEvent);
      if (event !== 'job' || !thing.status || !isTerminal(thing.status)) return;
      later.mark(sumsOfRuns);
      // A run is accounted for once it has ended: what is looked at now may be without it.
      setTimeout(() => later.mark(sumsOfRuns), pauseMs);
    };
    const leave = readStream({ scope, url: '/api/events', events }, { event: heard, open: everything });
    return () => {
      soon.end();
      later.end();
      leave();
    };
  }, [client, scope]);
}

function closeQuestion(client: QueryClient, { questionId, status }: OrganizationQuestionEvent): void {
  if (status !== 'open') removeOpenQuestion(client, questionId);
}

/** Looks at once at what is marked, and never again before it has been seen: a slow answer is not given up for a newer one. */
class Looking {
  private readonly due = new Map<string, QueryKey>();
  private readonly throttle: Throttle;

  constructor(
    private readonly client: QueryClient,
    everyMs: number,
  ) {
    this.throttle = new Throttle(() => this.look(), everyMs);
  }

  mark(keys: QueryKey[]): void {
    for (const key of keys) this.due.set(JSON.stringify(key), key);
    this.throttle.call();
  }

  end(): void {
    this.throttle.end();
  }

  private look(): Promise<unknown> {
    const keys = [...this.due.values()];
    this.due.clear();
    return Promise.all(keys.map((queryKey) => lookAgain(this.client, queryKey)));
  }
}

function lookAgain(client: QueryClient, queryKey: QueryKey): Promise<void> {
  return client.invalidateQueries({
    queryKey,
    predicate: ({ state }) => ((state.data as { pages?: unknown[] })?.pages?.length ?? 0) <= pagesReadAgain,
  });
}
