import { waitFor } from '@muster/testing';
import { type ChatFixture, openChatFixture } from './chat.harness';

describe('a chat’s stream', () => {
  let fixture: ChatFixture;
  let agentId: string;

  beforeAll(async () => {
    fixture = await openChatFixture({ env: { EVENT_STREAMS_HEARTBEAT_MS: '50', MODEL_TIMEOUT_MS: '1500' } });
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    fixture.model.reset();
    agentId = await fixture.anAgent();
  });
  afterEach(() => expect(fixture.model.faults).toEqual([]));

  const openChatStream = (body: object, client = fixture.tenant.as.member) => fixture.stream(client, agentId, body);
  const readLastMessage = async (sessionId: string) =>
    (await fixture.history(fixture.tenant.as.member, agentId, sessionId)).at(-1);
  const listTokens = (events: { event: string; data: { text: string } }[]) =>
    events.filter(({ event }) => event === 'token').map(({ data }) => data.text);

  it('a chat’s stream sends session, tokens, tool calls and results in order, then usage and done', async () => {
    fixture.model.addResponses(
      {
        content: 'Let me look.',
        toolCalls: [
          { name: 'get_status', arguments: {} },
          { name: 'stop', arguments: {} },
        ],
      },
      'It is online, and waits to be stopped.',
    );
    const { status, headers, events, ended } = await openChatStream({ message: 'Stop it' });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(headers.get('x-accel-buffering')).toBe('no');
    await ended;
    const names = events
      .map(({ event }) => event)
      .filter((event, at, all) => event !== 'token' || all[at - 1] !== event);
    expect(names).toEqual([
      ...['session', 'token', 'tool_call', 'tool_result', 'tool_call', 'tool_result', 'token', 'usage', 'done'],
    ]);
    const { sessionId } = events[0]!.data;
    const [first, second] = events.filter(({ event }) => event === 'tool_call');
    expect(first!.data).toEqual({ id: expect.any(String), tool: 'get_status', arguments: {} });
    const results = events.filter(({ event }) => event === 'tool_result').map(({ data }) => data);
    expect(results).toMatchObject([
      { id: first!.data.id, status: 'done', result: { status: 'online' } },
      { id: second!.data.id, status: 'needs_confirmation', confirmationId: expect.any(String) },
    ]);
    const { reply } = events.at(-1)!.data;
    expect(listTokens(events).join('')).toBe(reply);
    expect(reply).toBe('Let me look.\n\nIt is online, and waits to be stopped.');
    expect(events.at(-2)!.data).toEqual({
      ...{ inputTokens: expect.any(Number), outputTokens: expect.any(Number), costUsd: expect.any(Number) },
    });
    expect(await readLastMessage(sessionId)).toMatchObject({ role: 'assistant', content: reply });
    const path = `/api/agents/${agentId}/manage`;
    const { confirmationId } = results[1]!;
    expect((await fixture.tenant.as.member.post(path, { confirmationId, approve: true })).status).toBe(200);
  });

  it('a chat’s stream sends each token when the model produces it, and comments in between', async () => {
    fixture.model.addResponses({ content: 'one two three four five six', slowMs: 120 });
    const { events, comments, ended } = await openChatStream({ message: 'Count' });
    await waitFor('the first token', () => listTokens(events).length > 0);
    expect(fixture.model.calls[0]!.isOver).toBe(false);
    await ended;
    expect(listTokens(events)).toHaveLength(6);
    expect(comments.length).toBeGreaterThan(2);
  });

  it('a chat’s stream whose reader disconnects aborts the model call but stores the text so far', async () => {
    fixture.model.addResponses({ content: 'a b c d e f g h i j k l m n o p', slowMs: 100 });
    const { events, leave } = await openChatStream({ message: 'Tell me' });
    await waitFor('three tokens', () => listTokens(events).length >= 3);
    leave();
    await waitFor('the model call to be aborted', () => fixture.model.calls[0]!.wasLeft);
    const { sessionId } = events[0]!.data;
    const left = await waitFor('the turn’s end', async () => {
      const last = await readLastMessage(sessionId);
      return last.status === 'left' && last;
    });
    expect(left.content).toMatch(/^a b c /);
    expect(left.content).not.toContain('p');
    fixture.model.addResponses('Where was I.');
    const again = await openChatStream({ message: 'Continue', sessionId });
    await again.ended;
    expect(again.events.at(-1)).toEqual({ event: 'done', data: { reply: 'Where was I.' } });
    expect(fixture.model.calls[1]!.text).toContain('a b c');
    expect(fixture.model.calls[1]!.text).toContain('This answer broke');
  });

  it('a chat without a stream aborts the model call when its caller disconnects', async () => {
    fixture.model.addResponses({ hang: true });
    const going = new AbortController();
    const { headers, url } = fixture.tenant.as.member;
    const request = fetch(`${url}/api/agents/${agentId}/chat`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      ...{ body: JSON.stringify({ message: 'Hm' }), signal: going.signal },
    }).catch(() => null);
    await waitFor('the call', () => fixture.model.calls.length === 1);
    going.abort();
    await request;
    await waitFor('the model call to be aborted', () => fixture.model.calls[0]!.wasLeft);
  });

  it.each([
    ['loses its connection', { content: 'one two three four', cutAfter: 3 }, 'model_failed'],
    ['stops sending', { content: 'one two three four', cutAfter: 3, hang: true }, 'execution_timeout'],
  ] as const)(
    'a chat’s stream ends with an error but stores the received text if the model %s',
    async (_, script, code) => {
      fixture.model.addResponses(script);
      const { events, ended } = await openChatStream({ message: 'Count' });
      await ended;
      expect(events.at(-1)).toEqual({ event: 'error', data: { code, detail: expect.any(String) } });
      expect(events.filter(({ event }) => event === 'done')).toEqual([]);
      const { sessionId } = events[0]!.data;
      expect(await readLastMessage(sessionId)).toMatchObject({ content: 'one two ', status: 'failed', code });
      fixture.model.addResponses('Better now.');
      const again = await openChatStream({ message: 'And now?', sessionId });
      await again.ended;
      expect(again.events.at(-1)!.data).toEqual({ reply: 'Better now.' });
    },
  );

  it('a chat’s stream that cannot start is answered with a problem document', async () => {
    const { tenant, harness } = fixture;
    const otherTenant = await harness.makeTenant();
    expect((await openChatStream({ message: '' })).problem).toMatchObject({ status: 400, code: 'invalid_payload' });
    expect((await openChatStream({ message: 'x', autoConfirm: true })).problem).toMatchObject({ status: 403 });
    expect((await openChatStream({ message: 'x' }, otherTenant.as.member)).problem).toMatchObject({ status: 404 });
    expect((await openChatStream({ message: 'x' }, tenant.worker)).problem).toMatchObject({ status: 403 });
    expect((await openChatStream({ message: 'x' }, harness.http)).problem).toMatchObject({ status: 401 });
    expect(fixture.model.calls).toEqual([]);
  });
});
