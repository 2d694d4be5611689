import { newId } from '@muster/platform';
import { type Answer, makeApiKey, makeJob, makeWorkflow, waitFor } from '@muster/testing';
import { type ChatFixture, openChatFixture } from './chat.harness';

const uuid = /^[0-9a-f-]{36}$/;

describe('a chat', () => {
  let fixture: ChatFixture;
  let agentId: string;

  beforeAll(async () => {
    fixture = await openChatFixture();
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    fixture.model.reset();
    agentId = await fixture.anAgent();
  });
  afterEach(() => expect(fixture.model.faults).toEqual([]));

  const sendChatMessage = (body: object | string, client = fixture.tenant.as.member) =>
    fixture.chat(client, agentId, typeof body === 'string' ? { message: body } : body);

  it('a chat returns the model’s reply, its tool calls and its usage', async () => {
    const { model, harness, tenant } = fixture;
    const usage = { inputTokens: 100, outputTokens: 10 };
    model.addResponses(
      { toolCalls: [{ name: 'get_status', arguments: {} }], usage },
      { content: 'It is online.', usage },
    );
    const { status, body } = await sendChatMessage('How is it?');
    expect(status).toBe(200);
    expect(body).toEqual({
      sessionId: expect.stringMatching(uuid),
      reply: 'It is online.',
      toolCalls: [
        {
          ...{ id: expect.stringMatching(uuid), tool: 'get_status', arguments: {}, status: 'done' },
          result: expect.objectContaining({ status: 'online' }),
        },
      ],
      usage: { inputTokens: 200, outputTokens: 20, costUsd: expect.any(Number) },
    });
    const [first, second] = model.calls;
    expect([first!.stream, second!.stream]).toEqual([false, false]);
    expect(first!.toolNames).toHaveLength(16);
    expect(first!.body.messages.map(({ role }: { role: string }) => role)).toEqual(['system', 'user']);
    expect(first!.body.messages[0].content).toContain(agentId);
    expect(second!.lastText).toMatch(/^Untrusted output of the tool get_status/);
    const rows = await harness.db.query(
      'system',
      `SELECT purpose, agent_id, session_id, input_tokens FROM model_call WHERE organization_id = $1`,
      [tenant.organizationId],
    );
    const row = { purpose: 'chat', agentId, sessionId: body.sessionId, inputTokens: 100 };
    expect(rows).toEqual([row, row]);
  });

  it('a chat message can continue an existing session, which returns its whole history', async () => {
    const { model, tenant, history } = fixture;
    model.addResponses(
      { content: 'Looking.', toolCalls: [{ name: 'list_runs', arguments: {} }] },
      'No runs yet.',
      'As I said.',
    );
    const first = await sendChatMessage('Which runs were there?');
    const { sessionId } = first.body;
    expect(first.body.reply).toBe('Looking.\n\nNo runs yet.');
    const second = await sendChatMessage({ message: 'Really?', sessionId });
    expect(second.body).toMatchObject({ sessionId, reply: 'As I said.', toolCalls: [] });
    const messages = model.calls[2]!.body.messages;
    expect(messages.map(({ role }: { role: string }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
    expect(await history(tenant.as.member, agentId, sessionId)).toEqual([
      { role: 'user', content: 'Which runs were there?', at: expect.any(String) },
      {
        ...{ role: 'assistant', content: 'Looking.\n\nNo runs yet.', at: expect.any(String) },
        toolCalls: first.body.toolCalls,
      },
      { role: 'user', content: 'Really?', at: expect.any(String) },
      { role: 'assistant', content: 'As I said.', at: expect.any(String) },
    ]);
  });

  it('a user’s chat sessions are listed with the most recently used first', async () => {
    const { model, tenant } = fixture;
    const ids: string[] = [];
    for (const message of ['one', 'two', `three ${'x'.repeat(200)}`]) {
      model.addResponses('Yes.');
      ids.push((await sendChatMessage(message)).body.sessionId);
    }
    model.addResponses('Yes.');
    await sendChatMessage({ message: 'again', sessionId: ids[0] });
    const path = `/api/agents/${agentId}/chat`;
    const page = (await tenant.as.member.get(`${path}?limit=2`)).body;
    expect(page.sessions).toEqual([
      { sessionId: ids[0], title: 'one', updatedAt: expect.any(String) },
      { sessionId: ids[2], title: expect.stringMatching(/^three x{70,}…$/), updatedAt: expect.any(String) },
    ]);
    const rest = (await tenant.as.member.get(`${path}?limit=2&cursor=${page.nextCursor}`)).body;
    expect(rest).toMatchObject({ sessions: [{ sessionId: ids[1] }], nextCursor: null });
    const messages = (await tenant.as.member.get(`${path}?sessionId=${ids[0]}&limit=1`)).body;
    expect(messages.messages.map(({ content }: { content: string }) => content)).toEqual(['Yes.']);
    const older = (await tenant.as.member.get(`${path}?sessionId=${ids[0]}&cursor=${messages.nextCursor}`)).body;
    expect(older.messages[0].content).toBe('one');
  });

  it('the pages of chat messages contain each message once, with at most the requested number per page', async () => {
    const { tenant, model } = fixture;
    let sessionId: string | undefined;
    const expected: string[] = [];
    for (let at = 1; at <= 4; at += 1) {
      model.addResponses(`Answer ${at}`);
      const message = `Question ${at}`;
      sessionId = (await fixture.chat(tenant.as.member, agentId, { message, ...(sessionId ? { sessionId } : {}) })).body
        .sessionId;
      expected.push(message, `Answer ${at}`);
    }
    const path = `/api/agents/${agentId}/chat?sessionId=${sessionId}`;
    for (const limit of [1, 2, 3, 5, 8, 200]) {
      let all: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const url: string = `${path}&limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`;
        const page: Answer = await tenant.as.member.get(url);
        expect(page.status).toBe(200);
        expect(page.body.messages.length).toBeLessThanOrEqual(limit);
        all = [...page.body.messages.map(({ content }: { content: string }) => content), ...all];
        cursor = page.body.nextCursor as string | null;
      }
      expect(all).toEqual(expected);
    }
  });

  it('a chat session is shown only to its owner, and only for its agent', async () => {
    const { model, tenant, harness, anAgent } = fixture;
    model.addResponses('Yes.');
    const { sessionId } = (await sendChatMessage('Mine')).body;
    const otherTenant = await harness.makeTenant();
    const path = `/api/agents/${agentId}/chat?sessionId=${sessionId}`;
    for (const client of [
      tenant.as.admin,
      tenant.as.viewer,
      tenant.as.super_admin,
      tenant.api,
      otherTenant.as.member,
    ]) {
      expect((await client.get(path)).status).toBe(404);
      expect((await sendChatMessage({ message: 'Yours', sessionId }, client)).status).toBe(404);
      expect((await client.get(`/api/agents/${agentId}/chat`)).body.sessions ?? []).toEqual([]);
    }
    expect((await fixture.chat(tenant.as.member, await anAgent(), { message: 'Hm', sessionId })).status).toBe(404);
    model.addResponses('For a program.');
    const own = await sendChatMessage('Its own', tenant.api);
    expect((await tenant.api.get(`/api/agents/${agentId}/chat?sessionId=${own.body.sessionId}`)).status).toBe(200);
    const { secret } = await makeApiKey(harness.db, {
      organizationId: tenant.organizationId,
      agentId: await anAgent(),
    });
    expect((await sendChatMessage('Of another agent', harness.http.withKey(secret))).status).toBe(403);
    expect((await sendChatMessage('A machine', tenant.worker)).status).toBe(403);
    expect(model.calls).toHaveLength(2);
  });

  it('a chat message must have 1 to 8,000 characters', async () => {
    fixture.model.addResponses('Yes.');
    for (const message of ['', 'x'.repeat(8001), 7, null])
      expect((await sendChatMessage({ message })).status).toBe(400);
    expect((await sendChatMessage('x'.repeat(8000))).status).toBe(200);
  });

  it('the chat of a viewer calls only reading tools, whatever the model requests', async () => {
    const { model, tenant, rowsOf } = fixture;
    const before = await rowsOf(agentId);
    model.addResponses({ toolCalls: [{ name: 'stop', arguments: {} }] }, 'I may not.');
    const { body } = await sendChatMessage('Stop it', tenant.as.viewer);
    expect(body.toolCalls).toEqual([
      expect.objectContaining({ tool: 'stop', status: 'failed', code: 'permission_denied' }),
    ]);
    expect(model.calls[0]!.toolNames).not.toContain('stop');
    expect(model.calls[0]!.toolNames).toHaveLength(10);
    expect(await rowsOf(agentId)).toEqual({ ...before, entries: (before!['entries'] as number) + 1 });
  });

  it('a chat calls at most 12 tools for one message, and then requests the model’s answer', async () => {
    const { model } = fixture;
    const buildListRunsCalls = (count: number) =>
      Array.from({ length: count }, () => ({ name: 'list_runs', arguments: {} }));
    model.addResponses({ toolCalls: buildListRunsCalls(10) }, { toolCalls: buildListRunsCalls(5) }, 'Enough.');
    const { body } = await sendChatMessage('Look very closely');
    expect(body.reply).toBe('Enough.');
    expect(body.toolCalls).toHaveLength(12);
    const last = model.calls[2]!;
    expect(last.toolNames).toEqual([]);
    expect(last.lastText).toContain('at most 12 calls');
  });

  it('a second message in a chat session is refused until the first is answered', async () => {
    const { model, tenant } = fixture;
    let letGo!: () => void;
    const held = new Promise<string>((resolve) => (letGo = () => resolve('At last.')));
    model.addResponses('Yes.');
    const { sessionId } = (await sendChatMessage('First')).body;
    model.addRule(({ lastText }) => (lastText === 'Slow' ? held : undefined));
    const slow = sendChatMessage({ message: 'Slow', sessionId });
    await waitFor('the slow call', () => model.calls.some(({ lastText }) => lastText === 'Slow'));
    const second = await sendChatMessage({ message: 'Too soon', sessionId });
    expect([second.status, second.body.code]).toEqual([409, 'conflict']);
    model.addResponses('Elsewhere.');
    expect((await sendChatMessage('In another session')).status).toBe(200);
    letGo();
    expect((await slow).body.reply).toBe('At last.');
    model.addResponses('Now.');
    expect((await sendChatMessage({ message: 'Now', sessionId })).body.reply).toBe('Now.');
    const messages = await fixture.history(tenant.as.member, agentId, sessionId);
    expect(messages.map(({ content }: { content: string }) => content)).toEqual([
      'First',
      'Yes.',
      'Slow',
      'At last.',
      'Now',
      'Now.',
    ]);
  });

  it('a chat turn whose process died is shown as interrupted, and its session continues', async () => {
    const { model, tenant, harness, history } = fixture;
    model.addResponses('Yes.');
    const { sessionId } = (await sendChatMessage('First')).body;
    const turnId = newId();
    const { organizationId } = tenant;
    await harness.db.query(
      'system',
      `INSERT INTO chat_turn (id, organization_id, session_id, message, said, beat_at)
       VALUES ($1, $2, $3, 'Second', '{"So far"}', now())`,
      [turnId, organizationId, sessionId],
    );
    const callId = newId();
    await harness.db.query(
      'system',
      `INSERT INTO chat_call (id, organization_id, session_id, turn_id, round, place, model_key, tool, arguments, status)
       VALUES ($1, $2, $3, $4, 0, 0, 'call_1', 'list_runs', '{}', 'running')`,
      [callId, organizationId, sessionId, turnId],
    );
    expect((await sendChatMessage({ message: 'Third', sessionId })).status).toBe(409);
    await harness.db.query('system', `UPDATE chat_turn SET beat_at = now() - interval '31 seconds' WHERE id = $1`, [
      turnId,
    ]);
    const broken = { role: 'assistant', content: 'So far', status: 'interrupted', code: 'interrupted' };
    expect((await history(tenant.as.member, agentId, sessionId))[3]).toMatchObject(broken);
    model.addResponses('On we go.');
    expect((await sendChatMessage({ message: 'Third', sessionId })).body.reply).toBe('On we go.');
    const messages = await history(tenant.as.member, agentId, sessionId);
    expect(messages[3]).toMatchObject({
      ...broken,
      toolCalls: [{ id: callId, status: 'failed', code: 'interrupted' }],
    });
    expect(messages[5]).toMatchObject({ content: 'On we go.' });
  });

  it('a chat sends the model only the newest part of a long session', async () => {
    const { model, tenant, harness } = fixture;
    model.addResponses('Yes.');
    const { sessionId } = (await sendChatMessage('The very first')).body;
    for (let at = 0; at < 30; at += 1) {
      await harness.db.query(
        'system',
        `INSERT INTO chat_turn (id, organization_id, session_id, message, said, status)
         VALUES ($1, $2, $3, $4, ARRAY[$5], 'done')`,
        [newId(), tenant.organizationId, sessionId, `question ${at} ${'q'.repeat(4000)}`, 'a'.repeat(4000)],
      );
    }
    model.addResponses('Still here.');
    expect((await sendChatMessage({ message: 'And now?', sessionId })).status).toBe(200);
    const { text, body } = model.calls.at(-1)!;
    expect(text.length).toBeLessThan(70_000);
    expect(text).not.toContain('The very first');
    expect(text).toContain('question 29');
    expect(body.messages[0].content).toContain('left out');
    expect(body.messages.at(-1).content).toBe('And now?');
  });

  it('a long tool result in a chat is cut and marked as cut', async () => {
    const { model, harness, tenant } = fixture;
    const agentRef = { organizationId: tenant.organizationId, agentId };
    const { id: jobId } = await makeJob(harness.db, {
      ...{ ...agentRef, workflowId: (await makeWorkflow(harness.db, agentRef)).id },
      ...{ error: 'e'.repeat(50_000) },
    });
    model.addResponses({ toolCalls: [{ name: 'get_run', arguments: { jobId } }] }, 'Long.');
    const { body } = await sendChatMessage('What is it?');
    expect(JSON.stringify(body.toolCalls[0].result).length).toBeLessThan(12_500);
    expect(body.toolCalls[0].result.error).toContain('[cut: it has 50000 characters]');
    expect(model.calls[1]!.lastText.length).toBeLessThan(30_000);
  });
});
