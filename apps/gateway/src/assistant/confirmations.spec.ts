import { FakeClock, makeUser, makeWorkflow, testPassword, waitFor } from '@muster/testing';
import { newId } from '@muster/platform';
import { Client } from 'pg';
import { type ChatDesk, openChatDesk } from './chat.harness';

describe('a call of a chat that changes something', () => {
  let desk: ChatDesk;
  let clock: FakeClock;
  let agentId: string;
  let workflowId: string;

  beforeAll(async () => {
    clock = new FakeClock(new Date());
    desk = await openChatDesk({ clock });
    workflowId = (await makeWorkflow(desk.harness.db, { organizationId: desk.ours.organizationId })).id;
  });
  afterAll(() => desk.close());
  beforeEach(async () => {
    desk.model.reset();
    agentId = await desk.anAgent();
  });
  afterEach(() => expect(desk.model.faults).toEqual([]));

  const asked = async (client = desk.ours.as.member, given: object = { workflowId }) => {
    desk.model.says({ toolCalls: [{ name: 'run_workflow', arguments: given }] }, 'It waits for your word.');
    const { body } = await desk.chat(client, agentId, { message: 'Run it' });
    return { ...body, call: body.toolCalls[0] };
  };
  const decide = (confirmationId: string, approve: boolean, client = desk.ours.as.member) =>
    client.post(`/api/agents/${agentId}/manage`, { confirmationId, approve });

  it('waits for its owner’s word, and is then done once, exactly as it was shown', async () => {
    const { ours, model, rowsOf, history, auditOf } = desk;
    const { call, sessionId, reply } = await asked();
    expect(reply).toBe('It waits for your word.');
    expect(call).toMatchObject({ tool: 'run_workflow', arguments: { workflowId }, status: 'needs_confirmation' });
    const { confirmationId, expiresAt } = call;
    expect(Date.parse(expiresAt) - clock.now().getTime()).toBe(600_000);
    expect(model.calls.at(-1)!.lastText).toContain('was not called');
    expect(await rowsOf(agentId)).toMatchObject({ jobs: 0 });

    const theirs = await desk.harness.makeTenant();
    for (const client of [ours.as.admin, ours.as.super_admin, ours.api, theirs.as.admin]) {
      expect((await decide(confirmationId, true, client)).status).toBe(404);
    }
    const other = await desk.anAgent();
    const elsewhere = await ours.as.member.post(`/api/agents/${other}/manage`, { confirmationId, approve: true });
    expect(elsewhere.status).toBe(404);
    expect((await decide(newId(), true)).status).toBe(404);
    expect(await rowsOf(agentId)).toMatchObject({ jobs: 0 });

    const both = await Promise.all([decide(confirmationId, true), decide(confirmationId, true)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    const { body } = both.find(({ status }) => status === 200)!;
    expect(body).toEqual({
      ...{ tool: 'run_workflow', status: 'done' },
      result: { jobId: expect.any(String), status: 'queued' },
    });
    for (const approve of [true, false]) {
      const again = await decide(confirmationId, approve);
      expect([again.status, again.body.code]).toEqual([409, 'conflict']);
    }
    expect(await rowsOf(agentId)).toMatchObject({ jobs: 1 });
    expect((await history(ours.as.member, agentId, sessionId))[1].toolCalls).toEqual([
      { ...{ id: call.id, tool: 'run_workflow', arguments: { workflowId } }, status: 'done', result: body.result },
    ]);
    const how = { tool: 'run_workflow', sessionId, callId: call.id };
    expect(await auditOf(agentId, 'assistant.confirm')).toEqual([how]);
    expect(await auditOf(agentId, 'assistant.tool')).toEqual([{ ...how, via: 'chat' }]);
    const { entries } = (await ours.api.get(`/api/agents/${agentId}/logs?q=by+chat`)).body;
    expect(entries).toMatchObject([
      { source: 'assistant', data: how, message: expect.stringMatching(/called by chat/) },
    ]);
    const launched = await ours.as.admin.get(`/api/audit?targetId=${body.result.jobId}`);
    expect(launched.body.entries[0].actor.id).toBe(ours.userIds.member);

    model.says('It is queued.');
    await desk.chat(ours.as.member, agentId, { message: 'And?', sessionId });
    expect(model.calls.at(-1)!.text).toContain(body.result.jobId);
  });

  it('that somebody decides at the same moment is decided, and not too late', async () => {
    const { call } = await asked();
    const other = new Client({ connectionString: desk.harness.databaseUrl });
    await other.connect();
    await other.query('BEGIN');
    await other.query(`UPDATE chat_call SET decided_at = now(), status = 'failed' WHERE id = $1`, [
      call.confirmationId,
    ]);
    const deciding = decide(call.confirmationId, true);
    await waitFor('it to wait for the other', async () => {
      const { rows } = await other.query('SELECT FROM pg_locks WHERE NOT granted');
      return rows.length > 0;
    });
    await other.query('COMMIT');
    await other.end();
    const { status, body } = await deciding;
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(await desk.rowsOf(agentId)).toMatchObject({ jobs: 0 });
  });

  it('that was allowed, and whose process died over it, has an end', async () => {
    const { call, sessionId } = await asked();
    await desk.harness.db.query('system', `UPDATE chat_call SET decided_at = $2, status = 'running' WHERE id = $1`, [
      call.confirmationId,
      clock.now(),
    ]);
    const shown = async () => (await desk.history(desk.ours.as.member, agentId, sessionId))[1].toolCalls[0];
    expect(await shown()).toMatchObject({ status: 'running' });
    clock.advance(300_001);
    expect(await shown()).toMatchObject({ status: 'failed', code: 'interrupted', error: expect.any(String) });
    desk.model.says('I do not know.');
    await desk.chat(desk.ours.as.member, agentId, { message: 'And?', sessionId });
    expect(desk.model.calls.at(-1)!.text).toContain('the process that executed it died');
  });

  it('is not done when it is declined, and can’t be approved afterwards', async () => {
    const { call, sessionId } = await asked();
    const { status, body } = await decide(call.confirmationId, false);
    expect(status).toBe(200);
    expect(body).toMatchObject({ tool: 'run_workflow', status: 'failed', result: null, code: 'confirmation_declined' });
    expect((await decide(call.confirmationId, true)).status).toBe(409);
    expect(await desk.rowsOf(agentId)).toMatchObject({ jobs: 0 });
    const [, answer] = await desk.history(desk.ours.as.member, agentId, sessionId);
    expect(answer.toolCalls[0]).toMatchObject({ status: 'failed', code: 'confirmation_declined' });
  });

  it('waits for ten minutes and no longer', async () => {
    const { call, sessionId } = await asked();
    clock.advance(600_001);
    const late = await decide(call.confirmationId, true);
    expect([late.status, late.body.code]).toEqual([409, 'confirmation_expired']);
    expect(await desk.rowsOf(agentId)).toMatchObject({ jobs: 0 });
    const [, answer] = await desk.history(desk.ours.as.member, agentId, sessionId);
    expect(answer.toolCalls[0]).toMatchObject({ status: 'failed', code: 'confirmation_expired' });
  });

  it('is done with the rights that its owner has by then', async () => {
    const { harness, ours } = desk;
    const { id, email } = await makeUser(harness.db, { organizationId: ours.organizationId, role: 'member' });
    const client = await harness.http.signIn(email, testPassword);
    const { call } = await asked(client);
    expect((await ours.as.admin.patch(`/api/users/${id}`, { role: 'viewer' })).status).toBe(200);
    const demoted = await harness.http.signIn(email, testPassword);
    expect((await decide(call.confirmationId, true, demoted)).status).toBe(403);
    expect(await desk.rowsOf(agentId)).toMatchObject({ jobs: 0 });
    expect((await decide(call.confirmationId, false, demoted)).status).toBe(200);
  });

  it('that its route refuses is refused then too, and is decided all the same', async () => {
    const { harness, ours } = desk;
    const empty = await makeWorkflow(harness.db, { organizationId: ours.organizationId, script: '' });
    const { call, sessionId } = await asked(ours.as.member, { workflowId: empty.id });
    const refused = await decide(call.confirmationId, true);
    expect([refused.status, refused.body.code]).toEqual([409, 'nothing_to_run']);
    expect((await decide(call.confirmationId, true)).body.code).toBe('conflict');
    const [, answer] = await desk.history(ours.as.member, agentId, sessionId);
    expect(answer.toolCalls[0]).toMatchObject({ status: 'failed', code: 'nothing_to_run' });
  });

  it('with arguments that make no sense is refused at once', async () => {
    const { call } = await asked(desk.ours.as.member, { workflowId, agentId: newId() });
    expect(call).toMatchObject({ status: 'failed', code: 'invalid_payload' });
    expect(call.error).toContain('there is no argument agentId');
  });

  it('is done at once where an admin began the session with autoConfirm, and nobody else can', async () => {
    const { model, ours } = desk;
    const begin = (client: typeof ours.api) => desk.chat(client, agentId, { message: 'Run it', autoConfirm: true });
    for (const client of [ours.as.viewer, ours.as.member, ours.api]) expect((await begin(client)).status).toBe(403);
    expect(model.calls).toEqual([]);
    expect((await ours.as.member.get(`/api/agents/${agentId}/chat`)).body.sessions).toEqual([]);
    model.says({ toolCalls: [{ name: 'run_workflow', arguments: { workflowId } }] }, 'Done.');
    const { body } = await begin(ours.as.admin);
    expect(body.toolCalls).toMatchObject([{ status: 'done', result: { status: 'queued' } }]);
    const { sessionId } = body;
    const later = await desk.chat(ours.as.admin, agentId, { message: 'Again', sessionId, autoConfirm: true });
    expect(later.status).toBe(400);
    model.says({ toolCalls: [{ name: 'cancel_run', arguments: { jobId: body.toolCalls[0].result.jobId } }] }, 'Gone.');
    const again = await desk.chat(ours.as.admin, agentId, { message: 'Cancel it', sessionId });
    expect(again.body.toolCalls).toMatchObject([{ status: 'done', result: { status: 'cancelled' } }]);
    const plain = await asked(ours.as.admin);
    expect(plain.call.status).toBe('needs_confirmation');
  });
});
