import { FakeClock, makeUser, makeWorkflow, testPassword, waitFor } from '@muster/testing';
import { newId } from '@muster/platform';
import { Client } from 'pg';
import { type ChatFixture, openChatFixture } from './chat.harness';

describe('a chat’s tool call that changes something', () => {
  let fixture: ChatFixture;
  let clock: FakeClock;
  let agentId: string;
  let workflowId: string;

  beforeAll(async () => {
    clock = new FakeClock(new Date());
    fixture = await openChatFixture({ clock });
    workflowId = (await makeWorkflow(fixture.harness.db, { organizationId: fixture.tenant.organizationId })).id;
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    fixture.model.reset();
    agentId = await fixture.anAgent();
  });
  afterEach(() => expect(fixture.model.faults).toEqual([]));

  const requestWorkflowRun = async (client = fixture.tenant.as.member, args: object = { workflowId }) => {
    fixture.model.addResponses(
      { toolCalls: [{ name: 'run_workflow', arguments: args }] },
      'It waits for your confirmation.',
    );
    const { body } = await fixture.chat(client, agentId, { message: 'Run it' });
    return { ...body, call: body.toolCalls[0] };
  };
  const decideConfirmation = (confirmationId: string, approve: boolean, client = fixture.tenant.as.member) =>
    client.post(`/api/agents/${agentId}/manage`, { confirmationId, approve });

  it('a tool call that changes something waits for confirmation and is executed once, exactly as shown', async () => {
    const { tenant, model, rowsOf, history, auditOf } = fixture;
    const { call, sessionId, reply } = await requestWorkflowRun();
    expect(reply).toBe('It waits for your confirmation.');
    expect(call).toMatchObject({ tool: 'run_workflow', arguments: { workflowId }, status: 'needs_confirmation' });
    const { confirmationId, expiresAt } = call;
    expect(Date.parse(expiresAt) - clock.now().getTime()).toBe(600_000);
    expect(model.calls.at(-1)!.lastText).toContain('was not called');
    expect(await rowsOf(agentId)).toMatchObject({ jobs: 0 });

    const otherTenant = await fixture.harness.makeTenant();
    for (const client of [tenant.as.admin, tenant.as.super_admin, tenant.api, otherTenant.as.admin]) {
      expect((await decideConfirmation(confirmationId, true, client)).status).toBe(404);
    }
    const other = await fixture.anAgent();
    const elsewhere = await tenant.as.member.post(`/api/agents/${other}/manage`, { confirmationId, approve: true });
    expect(elsewhere.status).toBe(404);
    expect((await decideConfirmation(newId(), true)).status).toBe(404);
    expect(await rowsOf(agentId)).toMatchObject({ jobs: 0 });

    const both = await Promise.all([
      decideConfirmation(confirmationId, true),
      decideConfirmation(confirmationId, true),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    const { body } = both.find(({ status }) => status === 200)!;
    expect(body).toEqual({
      ...{ tool: 'run_workflow', status: 'done' },
      result: { jobId: expect.any(String), status: 'queued' },
    });
    for (const approve of [true, false]) {
      const again = await decideConfirmation(confirmationId, approve);
      expect([again.status, again.body.code]).toEqual([409, 'conflict']);
    }
    expect(await rowsOf(agentId)).toMatchObject({ jobs: 1 });
    expect((await history(tenant.as.member, agentId, sessionId))[1].toolCalls).toEqual([
      { ...{ id: call.id, tool: 'run_workflow', arguments: { workflowId } }, status: 'done', result: body.result },
    ]);
    const how = { tool: 'run_workflow', sessionId, callId: call.id };
    expect(await auditOf(agentId, 'assistant.confirm')).toEqual([how]);
    expect(await auditOf(agentId, 'assistant.tool')).toEqual([{ ...how, via: 'chat' }]);
    const { entries } = (await tenant.api.get(`/api/agents/${agentId}/logs?q=by+chat`)).body;
    expect(entries).toMatchObject([
      { source: 'assistant', data: how, message: expect.stringMatching(/called by chat/) },
    ]);
    const launched = await tenant.as.admin.get(`/api/audit?targetId=${body.result.jobId}`);
    expect(launched.body.entries[0].actor.id).toBe(tenant.userIds.member);

    model.addResponses('It is queued.');
    await fixture.chat(tenant.as.member, agentId, { message: 'And?', sessionId });
    expect(model.calls.at(-1)!.text).toContain(body.result.jobId);
  });

  it('a decision on a tool call is refused as a conflict if a concurrent decision is committed first', async () => {
    const { call } = await requestWorkflowRun();
    const other = new Client({ connectionString: fixture.harness.databaseUrl });
    await other.connect();
    await other.query('BEGIN');
    await other.query(`UPDATE chat_call SET decided_at = now(), status = 'failed' WHERE id = $1`, [
      call.confirmationId,
    ]);
    const deciding = decideConfirmation(call.confirmationId, true);
    await waitFor('the decision to wait for the lock', async () => {
      const { rows } = await other.query('SELECT FROM pg_locks WHERE NOT granted');
      return rows.length > 0;
    });
    await other.query('COMMIT');
    await other.end();
    const { status, body } = await deciding;
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(await fixture.rowsOf(agentId)).toMatchObject({ jobs: 0 });
  });

  it('an approved tool call whose process died is shown as interrupted', async () => {
    const { call, sessionId } = await requestWorkflowRun();
    await fixture.harness.db.query('system', `UPDATE chat_call SET decided_at = $2, status = 'running' WHERE id = $1`, [
      call.confirmationId,
      clock.now(),
    ]);
    const readCall = async () => (await fixture.history(fixture.tenant.as.member, agentId, sessionId))[1].toolCalls[0];
    expect(await readCall()).toMatchObject({ status: 'running' });
    clock.advance(300_001);
    expect(await readCall()).toMatchObject({ status: 'failed', code: 'interrupted', error: expect.any(String) });
    fixture.model.addResponses('I do not know.');
    await fixture.chat(fixture.tenant.as.member, agentId, { message: 'And?', sessionId });
    expect(fixture.model.calls.at(-1)!.text).toContain('the process that executed it died');
  });

  it('a declined tool call is not executed, even if it is approved afterwards', async () => {
    const { call, sessionId } = await requestWorkflowRun();
    const { status, body } = await decideConfirmation(call.confirmationId, false);
    expect(status).toBe(200);
    expect(body).toMatchObject({ tool: 'run_workflow', status: 'failed', result: null, code: 'confirmation_declined' });
    expect((await decideConfirmation(call.confirmationId, true)).status).toBe(409);
    expect(await fixture.rowsOf(agentId)).toMatchObject({ jobs: 0 });
    const [, answer] = await fixture.history(fixture.tenant.as.member, agentId, sessionId);
    expect(answer.toolCalls[0]).toMatchObject({ status: 'failed', code: 'confirmation_declined' });
  });

  it('a tool call can be confirmed within ten minutes, but not later', async () => {
    const { call, sessionId } = await requestWorkflowRun();
    clock.advance(600_001);
    const late = await decideConfirmation(call.confirmationId, true);
    expect([late.status, late.body.code]).toEqual([409, 'confirmation_expired']);
    expect(await fixture.rowsOf(agentId)).toMatchObject({ jobs: 0 });
    const [, answer] = await fixture.history(fixture.tenant.as.member, agentId, sessionId);
    expect(answer.toolCalls[0]).toMatchObject({ status: 'failed', code: 'confirmation_expired' });
  });

  it('a confirmed tool call is executed with the current rights of its owner', async () => {
    const { harness, tenant } = fixture;
    const { id, email } = await makeUser(harness.db, { organizationId: tenant.organizationId, role: 'member' });
    const client = await harness.http.signIn(email, testPassword);
    const { call } = await requestWorkflowRun(client);
    expect((await tenant.as.admin.patch(`/api/users/${id}`, { role: 'viewer' })).status).toBe(200);
    const demoted = await harness.http.signIn(email, testPassword);
    expect((await decideConfirmation(call.confirmationId, true, demoted)).status).toBe(403);
    expect(await fixture.rowsOf(agentId)).toMatchObject({ jobs: 0 });
    expect((await decideConfirmation(call.confirmationId, false, demoted)).status).toBe(200);
  });

  it('a confirmed tool call that its API route refuses has failed and cannot be confirmed again', async () => {
    const { harness, tenant } = fixture;
    const empty = await makeWorkflow(harness.db, { organizationId: tenant.organizationId, script: '' });
    const { call, sessionId } = await requestWorkflowRun(tenant.as.member, { workflowId: empty.id });
    const refused = await decideConfirmation(call.confirmationId, true);
    expect([refused.status, refused.body.code]).toEqual([409, 'nothing_to_run']);
    expect((await decideConfirmation(call.confirmationId, true)).body.code).toBe('conflict');
    const [, answer] = await fixture.history(tenant.as.member, agentId, sessionId);
    expect(answer.toolCalls[0]).toMatchObject({ status: 'failed', code: 'nothing_to_run' });
  });

  it('a tool call with invalid arguments is refused at once', async () => {
    const { call } = await requestWorkflowRun(fixture.tenant.as.member, { workflowId, agentId: newId() });
    expect(call).toMatchObject({ status: 'failed', code: 'invalid_payload' });
    expect(call.error).toContain('there is no argument agentId');
  });

  it('a tool call needs no confirmation in a session that an admin started with autoConfirm', async () => {
    const { model, tenant } = fixture;
    const requestRunWithoutConfirmation = (client: typeof tenant.api) =>
      fixture.chat(client, agentId, { message: 'Run it', autoConfirm: true });
    for (const client of [tenant.as.viewer, tenant.as.member, tenant.api])
      expect((await requestRunWithoutConfirmation(client)).status).toBe(403);
    expect(model.calls).toEqual([]);
    expect((await tenant.as.member.get(`/api/agents/${agentId}/chat`)).body.sessions).toEqual([]);
    model.addResponses({ toolCalls: [{ name: 'run_workflow', arguments: { workflowId } }] }, 'Done.');
    const { body } = await requestRunWithoutConfirmation(tenant.as.admin);
    expect(body.toolCalls).toMatchObject([{ status: 'done', result: { status: 'queued' } }]);
    const { sessionId } = body;
    const later = await fixture.chat(tenant.as.admin, agentId, { message: 'Again', sessionId, autoConfirm: true });
    expect(later.status).toBe(400);
    model.addResponses(
      { toolCalls: [{ name: 'cancel_run', arguments: { jobId: body.toolCalls[0].result.jobId } }] },
      'Gone.',
    );
    const again = await fixture.chat(tenant.as.admin, agentId, { message: 'Cancel it', sessionId });
    expect(again.body.toolCalls).toMatchObject([{ status: 'done', result: { status: 'cancelled' } }]);
    const plain = await requestWorkflowRun(tenant.as.admin);
    expect(plain.call.status).toBe('needs_confirmation');
  });

  it('a super_admin can use a chat of a visited organization, and its autoConfirm, only during a visit there', async () => {
    const { model, tenant, harness, chat } = fixture;
    const home = await harness.makeTenant();
    const homeAgentId = await fixture.anAgent({ organizationId: home.organizationId });
    const root = home.as.super_admin;
    const switchToOrganization = async (organizationId: string | null) =>
      expect((await root.post('/api/auth/organization', { organizationId })).status).toBe(200);
    const getStatusAndCode = ({ status, body }: { status: number; body: any }) => [status, body.code];
    const addRunResponses = () =>
      model.addResponses({ toolCalls: [{ name: 'run_workflow', arguments: { workflowId } }] }, 'Done.');

    await switchToOrganization(tenant.organizationId);
    addRunResponses();
    const { sessionId } = (await chat(root, agentId, { message: 'Run it', autoConfirm: true })).body;
    const { call } = await requestWorkflowRun(root);
    await switchToOrganization(null);

    const calls = model.calls.length;
    expect((await root.get(`/api/agents/${homeAgentId}/chat`)).body.sessions).toEqual([]);
    for (const [agent, code] of [
      [homeAgentId, 'not_found'],
      [agentId, 'agent_not_found'],
    ] as const) {
      const path = `/api/agents/${agent}`;
      expect(getStatusAndCode(await root.get(`${path}/chat?sessionId=${sessionId}`))).toEqual([404, code]);
      expect(getStatusAndCode(await chat(root, agent, { message: 'Again', sessionId }))).toEqual([404, code]);
      const confirmation = { confirmationId: call.confirmationId, approve: true };
      expect(getStatusAndCode(await root.post(`${path}/manage`, confirmation))).toEqual([404, code]);
    }
    expect(model.calls).toHaveLength(calls);
    expect(await fixture.rowsOf(agentId)).toMatchObject({ jobs: 1 });
    const stored = await harness.db.query<{ organizationId: string }>(
      'system',
      `SELECT DISTINCT organization_id FROM chat_session WHERE owner_id = $1`,
      [home.userIds.super_admin],
    );
    expect(stored).toEqual([{ organizationId: tenant.organizationId }]);

    await switchToOrganization(tenant.organizationId);
    addRunResponses();
    const again = await chat(root, agentId, { message: 'Again', sessionId });
    expect(again.body.toolCalls).toMatchObject([{ status: 'done' }]);
  });
});
