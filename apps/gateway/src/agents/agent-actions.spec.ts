import type { AgentStatus } from '@muster/contracts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readLastWakeFailures, MachineControl, MachinesModule } from '@muster/machines';
import { applyHandshake } from '@muster/commands';
import { type Harness, makeAgent, makeJob, makeWorkflow, startHarness, type Tenant, waitFor } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('agent actions', () => {
  let harness: Harness;
  let tenant: Tenant;
  let plane: Server;
  let baseUrl: string;
  /** Machine states by provider reference. Each agent has its own machine, so a late order changes no other machine. */
  const states = new Map<string, string>();
  let newest = '';
  const readMachine = () => states.get(newest);
  let behaviour: 'well' | 'hangs' | 'fails' = 'well';
  let over = false;
  let sweeping: Promise<void>;
  let machines: MachineControl;

  beforeAll(async () => {
    plane = createServer((request, response) => {
      if (behaviour === 'hangs') return;
      const [ref, order] = request.url!.split('/').slice(-2) as [string, string];
      if (behaviour === 'fails' && request.method === 'POST') return void response.writeHead(500).end();
      if (order === 'start' || order === 'reboot') states.set(ref, 'running');
      if (order === 'stop') states.set(ref, 'stopped');
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ state: states.get(ref) ?? states.get(order), ip: '10.1.1.1' }));
    });
    await new Promise<void>((resolve) => plane.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(plane.address() as AddressInfo).port}`;
    harness = await startHarness({
      ...gateway,
      modules: [...gateway.modules, MachinesModule],
      env: { OUTBOUND_ALLOW: '127.0.0.0/8', WAKE_TIMEOUT_MS: '5000', REQUEST_TIMEOUT_MS: '3500' },
    });
    tenant = await harness.makeTenant();
    machines = harness.app.nest.get(MachineControl);
    const sweepUntilOver = async () => {
      while (!over) {
        await machines.startAllDueWork();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await machines.waitUntilIdle();
    };
    sweeping = sweepUntilOver();
  });
  afterAll(async () => {
    over = true;
    await sweeping;
    await harness.close();
    plane.closeAllConnections();
    plane.close();
  });
  beforeEach(() => void (behaviour = 'well'));

  async function addAgent(status: AgentStatus, input: object = {}, machine = 'stopped') {
    newest = `vm-${states.size + 1}`;
    states.set(newest, machine);
    const { id } = await makeAgent(harness.db, {
      organizationId: tenant.organizationId,
      name: `Agent ${Math.random()}`,
      status,
      provider: 'http',
      providerConfig: { baseUrl, ref: newest },
      providerRef: newest,
      bootId: 'old boot',
      lastSeen: new Date('2026-01-01T00:00:00Z'),
      ...input,
    });
    return id;
  }
  const sendAction = (id: string, body: object, client = tenant.api) => client.post(`/api/agent/${id}/action`, body);
  const sendHandshake = (agentId: string) =>
    harness.db.transaction('system', (tx) =>
      applyHandshake(tx, tenant.organizationId, { agentId, bootId: 'new boot', workerVersion: '1' }),
    );
  const readRow = async (id: string) =>
    (await harness.db.query<Record<string, any>>('system', 'SELECT * FROM agent WHERE id = $1', [id]))[0]!;
  const lifecycle =
    "SELECT data->>'eventType' AS event FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle' ORDER BY seq";
  const listEvents = async (id: string) =>
    (await harness.db.query<{ event: string }>('system', lifecycle, [id])).map(({ event }) => event);
  const setAutoWake = (vmAutoWakeOnJob: boolean) =>
    tenant.as.admin.patch('/api/organization/settings', { vmAutoWakeOnJob });
  const makeScript = async () => (await makeWorkflow(harness.db, { organizationId: tenant.organizationId })).id;

  it('the start action returns immediately and restores the agent’s public tunnel URL', async () => {
    const id = await addAgent('stopped', { tunnelHostname: 'a1.example.com', tunnelUrl: 'https://other.example.com' });
    const answer = await sendAction(id, { action: 'start' });
    expect([answer.status, answer.body]).toEqual([200, { success: true, action: 'start', status: 'starting' }]);
    expect(await readRow(id)).toMatchObject({ status: 'starting', publicTunnelUrl: 'https://a1.example.com' });
    expect(await listEvents(id)).toEqual(['wake_requested', 'manual_start']);
    await waitFor('the start', () => readMachine() === 'running');
    const bare = await addAgent('stopped', { tunnelUrl: 'https://other.example.com' });
    await sendAction(bare, { action: 'start' });
    expect((await readRow(bare))['publicTunnelUrl']).toBe('https://other.example.com');
  });

  it('the stop action stops the machine, but is refused during a job unless it is forced', async () => {
    const id = await addAgent('online', {}, 'running');
    const job = await makeJob(harness.db, { organizationId: tenant.organizationId, agentId: id });
    await harness.db.query('system', 'UPDATE agent SET current_job_id = $2 WHERE id = $1', [id, job.id]);
    const refused = await sendAction(id, { action: 'stop' });
    expect([refused.status, refused.body.code, refused.body.jobId]).toEqual([409, 'agent_not_ready', job.id]);
    expect((await readRow(id))['status']).toBe('online');
    const answer = await sendAction(id, { action: 'stop', force: true });
    expect(answer.body).toEqual({ success: true, action: 'stop', status: 'stopping' });
    // The dispatcher calls this when it receives the message that the action enqueued.
    await machines.executeOrder(id);
    await waitFor('the stop', async () => (await readRow(id))['status'] === 'stopped');
    expect(readMachine()).toBe('stopped');
    expect(await listEvents(id)).toEqual(['manual_stop']);
    expect((await tenant.api.get(`/api/jobs/${job.id}`)).body.status).toBe('queued');
  });

  it.each(['online', 'offline', 'stopped', 'starting', 'stopping', 'rebooting', 'draining'] as const)(
    'the reboot action is accepted for an agent that is %s',
    async (status) => {
      const id = await addAgent(status);
      const answer = await sendAction(id, { action: 'reboot' });
      expect([answer.status, answer.body.status]).toEqual([200, 'rebooting']);
      expect(await listEvents(id)).toEqual(status === 'rebooting' ? [] : ['manual_reboot']);
    },
  );

  it('the reboot action cancels the idle stop of a stopping machine, which then boots', async () => {
    const id = await addAgent('stopping', { statusSource: 'idle_monitor' }, 'running');
    await sendAction(id, { action: 'reboot' });
    await machines.executeOrder(id);
    await sendHandshake(id);
    expect([(await readRow(id))['status'], readMachine()]).toEqual(['online', 'running']);
    expect(await listEvents(id)).toEqual(['idle_stop_failed', 'manual_reboot']);
  });

  it('the stop action cancels the wake of a booting machine, and stops the machine', async () => {
    const id = await addAgent('stopped');
    await sendAction(id, { action: 'start' });
    expect((await sendAction(id, { action: 'stop' })).body.status).toBe('stopping');
    // The dispatcher calls this when it receives the message that the action enqueued.
    await machines.executeOrder(id);
    await waitFor('the stop', async () => (await readRow(id))['status'] === 'stopped');
    expect(await listEvents(id)).toEqual(['wake_requested', 'manual_start', 'wake_failed', 'manual_stop']);
  });

  it('the reboot action sets the status to rebooting immediately, even if the control plane hangs', async () => {
    behaviour = 'hangs';
    const id = await addAgent('online');
    const answer = await sendAction(id, { action: 'reboot' });
    expect(answer.body).toEqual({ success: true, action: 'reboot', status: 'rebooting' });
    expect(await listEvents(id)).toEqual(['manual_reboot']);
  });

  it.each<[string, AgentStatus]>([
    ['start', 'online'],
    ['start', 'terminated'],
    ['stop', 'stopped'],
    ['reboot', 'terminated'],
    ['start_recording', 'terminated'],
  ])('the action %s is refused for an agent that is %s with 409 and its status', async (action, status) => {
    const answer = await sendAction(await addAgent(status), { action });
    expect([answer.status, answer.body.code, answer.body.agentStatus]).toEqual([409, 'agent_not_ready', status]);
  });

  it.each(['start', 'stop', 'reboot', 'terminate'])('the action %s of external machines is refused', async (action) => {
    const id = await addAgent('offline', { provider: 'external' });
    const answer = await sendAction(id, { action }, tenant.as.admin);
    expect([answer.status, answer.body.code, answer.body.agentStatus]).toEqual([409, 'agent_not_ready', 'offline']);
    expect((await readRow(id))['status']).toBe('offline');
  });

  it('the terminate action requires an admin', async () => {
    const id = await addAgent('stopped');
    for (const client of [tenant.api, tenant.as.member]) {
      expect((await sendAction(id, { action: 'terminate' }, client)).status).toBe(403);
    }
    const answer = await sendAction(id, { action: 'terminate' }, tenant.as.admin);
    expect(answer.body).toEqual({ success: true, action: 'terminate', status: 'terminated' });
    const entry = (await tenant.api.get(`/api/agents/${id}/logs?kind=status`)).body.entries[0];
    expect([entry.source, entry.message]).toEqual(['console', expect.stringContaining('terminated by')]);
  });

  it('a start_job action queues the job if the agent is online', async () => {
    const id = await addAgent('online');
    const answer = await sendAction(id, { action: 'start_job', workflowId: await makeScript() });
    expect([answer.status, answer.body]).toEqual([
      202,
      { success: true, action: 'start_job', status: 'online', jobId: expect.any(String) },
    ]);
    expect(answer.headers.get('location')).toBe(`/api/jobs/${answer.body.jobId}`);
  });

  it('a start_job action wakes a stopped agent and answers when it is online, even after a long wait', async () => {
    const id = await addAgent('stopped');
    const waiting = sendAction(id, { action: 'start_job', workflowId: await makeScript() });
    await waitFor('the start', () => readMachine() === 'running');
    await new Promise((resolve) => setTimeout(resolve, 3700));
    await sendHandshake(id);
    const answer = await waiting;
    expect([answer.status, answer.body.status]).toEqual([202, 'online']);
    expect(await listEvents(id)).toEqual(['wake_requested', 'wake_ready']);
  });

  it('a start_job action with a queued job wakes the agent for that job', async () => {
    const id = await addAgent('stopped');
    const job = await makeJob(harness.db, { organizationId: tenant.organizationId, agentId: id });
    const waiting = sendAction(id, { action: 'start_job', jobId: job.id });
    await waitFor('the start', () => readMachine() === 'running');
    await sendHandshake(id);
    expect((await waiting).body).toEqual({ success: true, action: 'start_job', status: 'online', jobId: job.id });
  });

  it('a start_job action answers 504 but keeps its job queued when the wake times out', async () => {
    const id = await addAgent('stopped');
    const answer = await sendAction(id, { action: 'start_job', workflowId: await makeScript() });
    expect([answer.status, answer.body.code]).toEqual([504, 'execution_timeout']);
    expect((await tenant.api.get(`/api/jobs/${answer.body.jobId}`)).body.status).toBe('queued');
    expect(await listEvents(id)).toEqual(['wake_requested', 'wake_timeout']);
  });

  it('a start_job action answers 502 agent_not_ready when the wake fails', async () => {
    behaviour = 'fails';
    const id = await addAgent('stopped');
    const answer = await sendAction(id, { action: 'start_job', workflowId: await makeScript() });
    expect([answer.status, answer.body.code, answer.body.agentStatus]).toEqual([502, 'agent_not_ready', 'stopped']);
    expect(await listEvents(id)).toEqual(['wake_requested', 'wake_failed']);
    const failures = await harness.db.transaction('system', (tx) => readLastWakeFailures(tx, id));
    expect(failures.consecutive).toBe(1);
  });

  it('a start_job action is refused with a request to start the agent manually if auto-wake is off', async () => {
    await setAutoWake(false);
    try {
      const id = await addAgent('stopped');
      const answer = await sendAction(id, { action: 'start_job', workflowId: await makeScript() });
      expect([answer.status, answer.body.code, answer.body.agentStatus]).toEqual([409, 'agent_not_ready', 'stopped']);
      expect(answer.body.detail).toMatch(/start it manually/);
      expect(await listEvents(id)).toEqual(['wake_blocked']);
      const jobs = await harness.db.query('system', 'SELECT FROM job WHERE agent_id = $1', [id]);
      expect([jobs.length, (await readRow(id))['status']]).toEqual([0, 'stopped']);
    } finally {
      await setAutoWake(true);
    }
  });

  describe('invalid start_job requests', () => {
    const absent = '0190a5b4-0000-7000-8000-0000000000ff';
    const wrong: [string, number, () => Promise<object>][] = [
      ['neither a workflow nor a job', 400, () => Promise.resolve({})],
      ['both a workflow and a job', 400, async () => ({ workflowId: await makeScript(), jobId: absent })],
      ['an unknown variable', 400, async () => ({ workflowId: await makeScript(), variables: { NONE: '1' } })],
      ['an unknown workflow', 404, () => Promise.resolve({ workflowId: absent })],
      ['an unknown job', 404, () => Promise.resolve({ jobId: absent })],
    ];

    it.each(wrong)('a start_job action with %s is refused in every state of the agent', async (_, status, ask) => {
      await setAutoWake(false);
      try {
        for (const input of [
          { provider: 'external', status: 'offline' },
          { status: 'stopped' },
          { status: 'online' },
        ] as const) {
          const id = await addAgent(input.status, input);
          const answer = await sendAction(id, { action: 'start_job', ...(await ask()) });
          expect([answer.status, answer.body.code]).toEqual([status, status === 400 ? 'invalid_payload' : 'not_found']);
          expect(await listEvents(id)).toEqual([]);
        }
      } finally {
        await setAutoWake(true);
      }
    });

    it('a start_job action reports a missing or terminated agent before other errors', async () => {
      expect((await sendAction(absent, { action: 'start_job' })).body.code).toBe('agent_not_found');
      const workflowId = await makeScript();
      const answer = await sendAction(await addAgent('terminated'), { action: 'start_job', workflowId });
      expect([answer.status, answer.body.agentStatus]).toEqual([409, 'terminated']);
    });
  });

  it('the wake of an agent continues after the caller that requested it has disconnected', async () => {
    const id = await addAgent('stopped');
    const leaving = new AbortController();
    const request = fetch(`${harness.url}/api/agent/${id}/action`, {
      method: 'POST',
      signal: leaving.signal,
      headers: {
        'content-type': 'application/json',
        ...(tenant.api as unknown as { headers: Record<string, string> }).headers,
      },
      body: JSON.stringify({ action: 'start_job', workflowId: await makeScript() }),
    }).catch(() => 'left');
    await waitFor('the start', () => readMachine() === 'running');
    leaving.abort();
    expect(await request).toBe('left');
    await sendHandshake(id);
    expect(await listEvents(id)).toEqual(['wake_requested', 'wake_ready']);
  });

  it('a stop_job action cancels a job of its agent, but no job of another agent', async () => {
    const id = await addAgent('online');
    const job = await makeJob(harness.db, { organizationId: tenant.organizationId, agentId: id });
    const other = await makeJob(harness.db, { organizationId: tenant.organizationId });
    expect((await sendAction(id, { action: 'stop_job', jobId: other.id })).status).toBe(404);
    expect((await sendAction(id, { action: 'stop_job' })).status).toBe(400);
    const answer = await sendAction(id, { action: 'stop_job', jobId: job.id, reason: 'wrong clinic' });
    expect(answer.body).toEqual({ success: true, action: 'stop_job', status: 'online', jobId: job.id });
    expect((await tenant.api.get(`/api/jobs/${job.id}`)).body.status).toBe('cancelled');
  });

  it('the time of an agent’s last activity never becomes earlier and is never in the future', async () => {
    const id = await addAgent('online', { lastActivityAt: new Date('2026-01-01T00:00:00Z') });
    const recordActivity = async (at?: string) =>
      (await tenant.api.post(`/api/agent/${id}/activity`, at ? { at } : {})).body.lastActivityAt as string;
    expect(await recordActivity('2025-01-01T00:00:00Z')).toBe('2026-01-01T00:00:00.000Z');
    const ahead = await recordActivity('2199-01-01T00:00:00Z');
    expect(new Date(ahead).getTime()).toBeLessThanOrEqual(Date.now() + 1000);
    expect((await recordActivity()) >= ahead).toBe(true);
  });

  it('the idle-exempt request sets or removes the agent’s exemption from idle stop', async () => {
    const id = await addAgent('online');
    for (const exempt of [true, false]) {
      const answer = await tenant.api.patch(`/api/agent/${id}/idle-exempt`, { exempt });
      expect(answer.body).toEqual({ success: true, idleAutoStopExempt: exempt });
      expect((await readRow(id))['idleAutoStopExempt']).toBe(exempt);
    }
  });

  it('the status request returns the current machine state, or the last known one if the provider hangs', async () => {
    const id = await addAgent('online', { vmState: 'known', vmIp: '10.9.9.9' }, 'running');
    const current = await tenant.api.get(`/api/agents/${id}/status`);
    expect(current.body).toEqual({
      status: 'online',
      lastSeen: '2026-01-01T00:00:00.000Z',
      lastActivityAt: null,
      publicTunnelUrl: null,
      vmState: 'running',
      vmIp: '10.1.1.1',
    });
    behaviour = 'hangs';
    const stale = await tenant.api.get(`/api/agents/${id}/status`);
    expect(stale.body).toMatchObject({ status: 'online', vmState: 'known', vmIp: '10.9.9.9', stale: true });
  });
});
