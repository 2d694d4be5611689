import type { TimelineEventsResponse } from './generated';
import type { Client } from './generated/client';
import { isAbortOrTimeout, MusterError } from './muster-error';
import { EventParser } from './parse-events';
import { sleep } from './sleep';

/** One event of an agent, with its number in the agent's timeline. */
export type AgentEvent = TimelineEventsResponse & { id: string };

export interface FollowOptions {
  /** Id of the last event that was received. The stream continues after it. If absent, the stream starts now. */
  lastEventId?: string;
  signal?: AbortSignal;
}

const longestWaitMs = 15_000;

/**
 * Streams the events of an agent. If the connection is lost, it reconnects and continues after the last event, so that
 * no event is missed or repeated. Ends when the signal aborts. Throws if the service rejects the request permanently.
 */
export async function* followEvents(
  client: Client,
  agentId: string,
  { lastEventId, signal }: FollowOptions = {},
): AsyncGenerator<AgentEvent, void, undefined> {
  let lastId = lastEventId;
  let retryMs = 2000;
  for (let failures = 0; ;) {
    try {
      for await (const piece of connectToEvents(client, agentId, lastId, signal)) {
        failures = 0;
        lastId = piece.id ?? lastId;
        retryMs = piece.retryMs ?? retryMs;
        if (piece.data !== undefined) yield { ...(JSON.parse(piece.data) as TimelineEventsResponse), id: lastId! };
      }
    } catch (error) {
      if (isAbortOrTimeout(error) && signal?.aborted) return;
      if (!isTemporary(error)) throw error;
      failures += 1;
    }
    if (signal?.aborted) return;
    await sleep(Math.min(longestWaitMs, retryMs * 2 ** Math.max(0, failures - 1)), signal).catch(() => undefined);
    if (signal?.aborted) return;
  }
}

async function* connectToEvents(client: Client, agentId: string, lastId: string | undefined, signal?: AbortSignal) {
  const answer = await client.get<ReadableStream<Uint8Array>, unknown, true, 'data'>({
    url: '/api/agents/{id}/events',
    path: { id: agentId },
    headers: { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
    parseAs: 'stream',
    responseStyle: 'data',
    throwOnError: true,
    signal,
  });
  const reader = (answer as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.parseText(decoder.decode(value, { stream: true }));
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Whether a retry can succeed: the connection was lost, or the service is overloaded or restarting. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof MusterError)) return true;
  return error.status === 0 || error.status === 429 || error.status >= 500;
}
