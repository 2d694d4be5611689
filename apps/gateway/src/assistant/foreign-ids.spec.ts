import { newId } from '@muster/platform';
import type { HttpClient, Tenant } from '@muster/testing';
import { type ChatFixture, openChatFixture } from './chat.harness';

describe('ids of others in requests of the assistant', () => {
  let fixture: ChatFixture;
  let otherTenant: Tenant;
  /** An agent of the tenant, another agent of the tenant, and an agent of the other organization. */
  let agentId: string;
  let otherAgentId: string;
  let foreignAgentId: string;

  beforeAll(async () => {
    fixture = await openChatFixture();
    otherTenant = await fixture.harness.makeTenant();
    [agentId, otherAgentId] = [await fixture.anAgent(), await fixture.anAgent()];
    const { organizationId } = otherTenant;
    foreignAgentId = await fixture.anAgent({ organizationId });
  });
  afterAll(() => fixture.close());

  const querySql = (text: string, values: unknown[] = []) => fixture.harness.db.query<any>('system', text, values);
  const getStatusAndCode = ({ status, body }: { status: number; body: any }) => [status, body.code];
  /** Returns everything of the tenant and the other organization that a request to the assistant can change. */
  const readStoredRows = async () => {
    const rows: Record<string, unknown> = {};
    for (const table of ['autopilot_session', 'autopilot_step', 'chat_session', 'chat_turn', 'chat_call', 'job']) {
      rows[table] = await querySql(`SELECT to_jsonb(t) AS row FROM ${table} t ORDER BY to_jsonb(t)::text`);
    }
    const counted = ['agent_command', 'outbox', 'timeline_entry'].map((table) => `(SELECT count(*) FROM ${table})`);
    return { ...rows, counts: await querySql(`SELECT ${counted.map((each, at) => `${each} AS n${at}`).join(', ')}`) };
  };
  const makeSession = async (status: 'paused' | 'running') => {
    const id = newId();
    const task = { title: 'File it', goal: 'x', steps: [], inputs: [], success: { description: 'x' } };
    await querySql(
      `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, due_at, max_steps,
         max_attempts, max_active_ms, max_cost_micros, approve, intent, task)
       VALUES ($1, $2, $3, $4, 'over', '{"kind": "user", "id": "the one"}', NULL, 50, 5, 3600000, 5000000, 'never',
         'the intent', $5)`,
      [id, fixture.tenant.organizationId, agentId, status, JSON.stringify(task)],
    );
    return id;
  };

  it('an autopilot session cannot be resumed, cancelled or read by its id below another agent', async () => {
    const { tenant } = fixture;
    for (const sessionId of [await makeSession('paused'), await makeSession('running')]) {
      const before = await readStoredRows();
      const strangers: [HttpClient, string, code: string][] = [
        [otherTenant.as.admin, foreignAgentId, 'not_found'],
        [otherTenant.api, foreignAgentId, 'not_found'],
        [otherTenant.as.admin, agentId, 'agent_not_found'],
        [tenant.as.admin, otherAgentId, 'not_found'],
        [tenant.as.admin, foreignAgentId, 'agent_not_found'],
      ];
      for (const [client, agent, code] of strangers) {
        const path = `/api/agents/${agent}/autopilot`;
        const bodies = [
          { action: 'cancel', sessionId },
          { action: 'resume', sessionId },
          { action: 'resume', sessionId, stepOverride: { instruction: 'Send it elsewhere' } },
        ];
        for (const body of bodies) expect(getStatusAndCode(await client.post(path, body))).toEqual([404, code]);
        for (const query of [`?sessionId=${sessionId}`, `/events?sessionId=${sessionId}`]) {
          expect(getStatusAndCode(await client.get(`${path}${query}`))).toEqual([404, code]);
        }
      }
      expect(await readStoredRows()).toEqual(before);
    }
    const sessionId = await makeSession('paused');
    const own = await tenant.as.admin.post(`/api/agents/${agentId}/autopilot`, { action: 'cancel', sessionId });
    expect(own.status).toBe(202);
  });

  it('a pending tool call cannot be decided by its confirmation id by another user or organization', async () => {
    const { tenant, model } = fixture;
    const workflow = await tenant.as.member.post('/api/workflows', { name: newId(), script: 'print(1)' });
    const args = { workflowId: workflow.body.id };
    model.addResponses({ toolCalls: [{ name: 'run_workflow', arguments: args }] }, 'It waits for your confirmation.');
    const { body } = await fixture.chat(tenant.as.member, agentId, { message: 'Run it' });
    const { confirmationId } = body.toolCalls[0];
    const before = await readStoredRows();
    const strangers: [HttpClient, string, code: string][] = [
      [otherTenant.as.admin, foreignAgentId, 'not_found'],
      [otherTenant.as.member, foreignAgentId, 'not_found'],
      [otherTenant.api, foreignAgentId, 'not_found'],
      [otherTenant.as.admin, agentId, 'agent_not_found'],
      [tenant.as.admin, agentId, 'not_found'],
      [tenant.as.viewer, agentId, 'not_found'],
      [tenant.api, agentId, 'not_found'],
      [tenant.as.member, otherAgentId, 'not_found'],
    ];
    for (const [client, agent, code] of strangers) {
      for (const approve of [true, false]) {
        const refused = await client.post(`/api/agents/${agent}/manage`, { confirmationId, approve });
        expect(getStatusAndCode(refused)).toEqual([404, code]);
      }
    }
    expect(await readStoredRows()).toEqual(before);
    const own = await tenant.as.member.post(`/api/agents/${agentId}/manage`, { confirmationId, approve: true });
    expect([own.status, own.body.status]).toEqual([200, 'done']);
  });

  it('a chat cannot be continued or read by its session id by another user or organization', async () => {
    const { tenant, model } = fixture;
    model.reset();
    model.addResponses('Hello.');
    const { sessionId } = (await fixture.chat(tenant.as.member, agentId, { message: 'Hello' })).body;
    const before = await readStoredRows();
    const calls = model.calls.length;
    const strangers: [HttpClient, string, code: string][] = [
      [otherTenant.as.admin, foreignAgentId, 'not_found'],
      [otherTenant.as.admin, agentId, 'agent_not_found'],
      [tenant.as.admin, agentId, 'not_found'],
      [tenant.api, agentId, 'not_found'],
      [tenant.as.member, otherAgentId, 'not_found'],
    ];
    for (const [client, agent, code] of strangers) {
      const path = `/api/agents/${agent}/chat`;
      for (const each of [path, `${path}/stream`]) {
        expect(getStatusAndCode(await client.post(each, { message: 'And?', sessionId }))).toEqual([404, code]);
      }
      expect(getStatusAndCode(await client.get(`${path}?sessionId=${sessionId}`))).toEqual([404, code]);
    }
    expect(await readStoredRows()).toEqual(before);
    expect(model.calls).toHaveLength(calls);
  });
});
