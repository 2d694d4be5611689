import type { Clock, Environment } from '@muster/platform';
import { type Answer, FakeModel, type Harness, type HttpClient, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { createToolHelpers } from './manage.harness';

interface StreamedEvent {
  event: string;
  data: any;
}

/** All events of a chat's stream that the test has received so far. */
interface ReadStream {
  status: number;
  headers: Headers;
  /** The problem document; null if the response is a stream. */
  problem: any;
  events: StreamedEvent[];
  comments: string[];
  ended: Promise<void>;
  leave(): void;
}

export type ChatFixture = Awaited<ReturnType<typeof openChatFixture>>;

/** Starts a gateway with a fake model, and a tenant whose users chat about its agents. */
export async function openChatFixture(options: { env?: Environment; clock?: Clock } = {}) {
  const model = await FakeModel.start();
  const { clock } = options;
  const env = { ...model.environment, RATE_LIMIT_PER_MINUTE: '100000', ...options.env };
  const harness: Harness = await startHarness({ ...gateway, env, clock });
  const tenant: Tenant = await harness.makeTenant();
  const managed = createToolHelpers(
    () => harness,
    () => tenant,
  );
  const streamAnswer = (client: HttpClient, agentId: string, body: object): Promise<Answer> =>
    client.post(`/api/agents/${agentId}/chat`, body);
  const readHistory = async (client: HttpClient, agentId: string, sessionId: string) =>
    (await client.get(`/api/agents/${agentId}/chat?sessionId=${sessionId}`)).body.messages;
  const closeFixture = async () => {
    await harness.close();
    await model.close();
  };
  return {
    ...managed,
    model,
    harness,
    tenant,
    chat: streamAnswer,
    history: readHistory,
    stream: streamChat,
    close: closeFixture,
  };
}

/** Reads a chat's stream as it arrives. `leave` disconnects before the stream ends. */
async function streamChat(client: HttpClient, agentId: string, body: object): Promise<ReadStream> {
  const going = new AbortController();
  const response = await fetch(`${client.url}/api/agents/${agentId}/chat/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...client.headers },
    body: JSON.stringify(body),
    signal: going.signal,
  });
  const { status, headers } = response;
  const read: ReadStream = {
    ...{ status, headers, problem: null, events: [], comments: [] },
    ...{ ended: Promise.resolve(), leave: () => going.abort() },
  };
  if (status !== 200) return { ...read, problem: await response.json() };
  read.ended = collectEvents(response, read).catch(() => undefined);
  return read;
}

async function collectEvents(response: Response, { events, comments }: ReadStream): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    const blocks = (rest + decoder.decode(piece, { stream: true })).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      if (block.startsWith(':')) {
        comments.push(block.slice(1).trim());
        continue;
      }
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(block)!;
      events.push({ event: event!, data: JSON.parse(data!) });
    }
  }
}
