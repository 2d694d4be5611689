import type { AgentStatus } from '@muster/contracts';
import { applyHandshake, applyHeartbeat } from '@muster/commands';
import { applyJobReport, cancelJobsOfStoppedAgent, Dispatch, DispatchConfig, JobsModule } from '@muster/jobs';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('draining', () => {
  let harness: Harness;
  let tenant: Tenant;
  let dispatch: Dispatch;
  let workflowId: string;
  let machineCount = 0;

  beforeAll(async () => {
    harness = await startHarness({
      ...gateway,
      configs: [...gateway.configs, DispatchConfig],
      modules: [...gateway.modules, JobsModule],
    });
    tenant = await harness.makeTenant();
    dispatch = harness.app.nest.get(Dispatch, { strict: false });
    workflowId = (await makeWorkflow(harness.db, { organizationId: tenant.organizationId })).id;
  });
  afterAll(() => harness.close());

  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  async function makeMachine(status: AgentStatus = 'online'): Promise<string> {
    machineCount += 1;
    const { organizationId } = tenant;
    const input = {
      organizationId,
      name: `Machine ${machineCount}`,
      status,
      provider: 'local',
      bootId: 'boot 1',
    } as const;
    return (await makeAgent(harness.db, { ...input, lastSeen: new Date() })).id;
  }
  const launchJob = async (agentId: string, input: object = {}) =>
    (await tenant.api.post('/api/jobs/launch', { workflowId, agentId, variables: {}, ...input })).body.jobId as string;
  const readRetries = (jobId: string) => querySql('SELECT status, attempt FROM job WHERE retry_of = $1', [jobId]);
  async function startJob(agentId: string, input: object = {}): Promise<string> {
    const jobId = await launchJob(agentId, input);
    await dispatch.startNextJob(agentId);
    await applyJobReport(harness.db, { organizationId: tenant.organizationId, agentId }, { jobId, status: 'running' });
    return jobId;
  }
  const completeJob = (agentId: string, jobId: string) =>
    applyJobReport(harness.db, { organizationId: tenant.organizationId, agentId }, { jobId, status: 'completed' });
  const drainAgent = (id: string, mode: string) => tenant.api.post(`/api/agents/${id}/drain`, { mode });
  const undrainAgent = (id: string) => tenant.api.post(`/api/agents/${id}/undrain`);
  const readAgent = async (id: string) => (await tenant.api.get(`/api/agents/${id}`)).body;
  const readJob = async (id: string) => (await tenant.api.get(`/api/jobs/${id}`)).body;
  const sendHandshake = (agentId: string, bootId: string) =>
    harness.db.transaction('system', (tx) =>
      applyHandshake(tx, tenant.organizationId, { agentId, bootId, workerVersion: '1' }),
    );
  const sendHeartbeat = (agentId: string, bootId: string) =>
    applyHeartbeat(harness.db, tenant.organizationId, { agentId, bootId }, new Date());

  async function makeFunction(): Promise<string> {
    const body = { name: `check_${newId().replaceAll('-', '_')}`, code: 'result = 1' };
    return (await tenant.as.admin.post('/api/functions', body)).body.id as string;
  }

  it('a drain in mode finish lets the running job end, starts no other job, and returns both jobs', async () => {
    const id = await makeMachine();
    const [first, second] = [await startJob(id), await launchJob(id)];
    const answer = await drainAgent(id, 'finish');
    expect([answer.status, answer.body]).toEqual([
      200,
      { agent: expect.objectContaining({ id, status: 'draining', stopAt: null }), running: [first], queued: [second] },
    ]);
    expect(answer.body.agent.why).toContain('It stays on: it is being drained.');
    await completeJob(id, first);
    expect(await dispatch.startNextJob(id)).toMatchObject({ action: 'wait' });
    expect((await readJob(second)).waiting).toMatchObject({ reason: 'draining' });
    expect(await readAgent(id)).toMatchObject({ status: 'draining', currentJobId: null });
    const released = await undrainAgent(id);
    expect([released.status, released.body.agent.status, released.body.queued]).toEqual([200, 'online', [second]]);
    expect(await dispatch.startNextJob(id)).toMatchObject({ action: 'start', jobId: second });
  });

  it('a drain in mode now is refused during a run unless it is forced; a forced drain fails and stops the run', async () => {
    const id = await makeMachine();
    const [first, second] = [await startJob(id, { maxRetries: 1 }), await launchJob(id)];
    const refused = await drainAgent(id, 'now');
    expect([refused.status, refused.body.code, refused.body.jobId]).toEqual([409, 'agent_not_ready', first]);
    expect([(await readAgent(id)).status, (await readJob(first)).status]).toEqual(['online', 'running']);
    const answer = await tenant.api.post(`/api/agents/${id}/drain`, { mode: 'now', force: true });
    expect(answer.body).toMatchObject({ running: [first], queued: [second], agent: { status: 'draining' } });
    expect(await readJob(first)).toMatchObject({ status: 'failed', errorCode: 'agent_stopped' });
    expect(await readRetries(first)).toMatchObject([{ status: 'queued' }]);
    expect(await readJob(second)).toMatchObject({ status: 'queued' });
    const stops = await querySql(`SELECT id, job_id FROM agent_command WHERE agent_id = $1 AND kind = 'stop_job'`, [
      id,
    ]);
    expect(stops).toMatchObject([{ jobId: first }]);
    // No job is dispatched until the worker reports the result of this stop command.
    const [{ clearing }] = await querySql('SELECT clearing_command_id AS clearing FROM agent WHERE id = $1', [id]);
    expect(clearing).toBe(stops[0].id);
    expect((await drainAgent(id, 'now')).status).toBe(200);
  });

  it('a drain stays in effect after a new boot, while the agent is offline, and while the agent is stopped', async () => {
    const id = await makeMachine();
    await drainAgent(id, 'finish');
    await sendHandshake(id, 'boot 2');
    expect((await readAgent(id)).status).toBe('draining');
    await querySql(`UPDATE agent SET status = 'offline' WHERE id = $1`, [id]);
    expect((await sendHeartbeat(id, 'boot 2')).status).toBe('draining');
    const asleep = await makeMachine('stopped');
    expect((await drainAgent(asleep, 'finish')).body.agent.status).toBe('stopped');
    const waiting = await launchJob(asleep);
    expect(await dispatch.startNextJob(asleep)).toMatchObject({ action: 'wait' });
    expect((await readJob(waiting)).waiting).toMatchObject({ reason: 'draining' });
    expect(await querySql('SELECT FROM agent_wake WHERE agent_id = $1', [asleep])).toEqual([]);
    await undrainAgent(asleep);
    expect(await dispatch.startNextJob(asleep)).toMatchObject({ action: 'wake' });
  });

  it('a drain and its end are recorded on the timeline and in the audit trail', async () => {
    const id = await makeMachine();
    await drainAgent(id, 'finish');
    await undrainAgent(id);
    const entries = await querySql(`SELECT source, message FROM timeline_entry WHERE agent_id = $1 ORDER BY seq`, [id]);
    expect(entries.map(({ source, message }: any) => `${source} ${message.split(':')[0]}`)).toEqual([
      'api online → draining',
      'api draining → online',
    ]);
    const audited = await querySql(`SELECT action, changes FROM audit_entry WHERE target_id = $1 ORDER BY at`, [id]);
    expect(audited).toEqual([
      { action: 'agent.drain', changes: { drain: [null, 'finish'] } },
      { action: 'agent.undrain', changes: { drain: ['finish', null] } },
    ]);
  });

  describe('a draining agent', () => {
    const performAgentAction = (id: string, body: object) => tenant.api.post(`/api/agent/${id}/action`, body);
    const postToAgent = (id: string, route: string, body: object) =>
      tenant.api.post(`/api/agents/${id}/${route}`, body);
    const work: [string, (id: string) => Promise<{ status: number; body: any }>][] = [
      ['run-snippet', (id) => postToAgent(id, 'run-snippet', { code: 'print(1)' })],
      ['run-function', async (id) => postToAgent(id, 'run-function', { functionId: await makeFunction(), args: {} })],
      ['builder/run', (id) => postToAgent(id, 'builder/run', { phase: 'login', code: 'print(1)' })],
      ['script', (id) => postToAgent(id, 'script', { action: 'push', script: 'print(1)' })],
      ['start_job', (id) => performAgentAction(id, { action: 'start_job', workflowId, variables: {} })],
      ['start_recording', (id) => performAgentAction(id, { action: 'start_recording' })],
      ['deploy_extension', (id) => performAgentAction(id, { action: 'deploy_extension', version: '1.4.0' })],
    ];

    it.each(work)('the request %s is refused while its agent is drained, and accepted afterwards', async (_, ask) => {
      for (const status of ['online', 'stopped'] as const) {
        const id = await makeMachine(status);
        await drainAgent(id, 'finish');
        const answer = await ask(id);
        expect([answer.status, answer.body]).toMatchObject([
          409,
          {
            code: 'agent_not_ready',
            agentStatus: status === 'online' ? 'draining' : 'stopped',
            detail: 'The agent is being drained and accepts no new work.',
          },
        ]);
        expect(await querySql('SELECT FROM agent_command WHERE agent_id = $1', [id])).toEqual([]);
        expect(await querySql('SELECT FROM agent_wake WHERE agent_id = $1', [id])).toEqual([]);
        expect(await querySql('SELECT FROM job WHERE agent_id = $1', [id])).toEqual([]);
        if (status !== 'online') continue;
        await undrainAgent(id);
        expect([200, 202]).toContain((await ask(id)).status);
      }
    });

    it('a draining agent still accepts a repair and actions that stop or attach to running work', async () => {
      const id = await makeMachine();
      const { recordingId } = (await performAgentAction(id, { action: 'start_recording' })).body;
      const jobId = await startJob(id);
      const key = { name: 'repair', scope: 'worker' };
      const apiKey = (await tenant.as.admin.post('/api/api-keys', key)).body.secret as string;
      await drainAgent(id, 'finish');
      for (const body of [
        { action: 'attach_recording', recordingId },
        { action: 'stop_recording', recordingId },
        { action: 'stop_job', jobId },
        { action: 'repair', apiKey },
      ]) {
        expect((await performAgentAction(id, body)).body).toMatchObject({ success: true, status: 'draining' });
      }
    });
  });

  it('a drain of a terminated agent is refused', async () => {
    const answer = await drainAgent(await makeMachine('terminated'), 'finish');
    expect([answer.status, answer.body.code]).toEqual([409, 'agent_not_ready']);
  });

  describe('a job on the machine', () => {
    const performAgentAction = (id: string, body: object) => tenant.api.post(`/api/agent/${id}/action`, body);
    const performActionAsAdmin = (id: string, body: object) => tenant.as.admin.post(`/api/agent/${id}/action`, body);

    it('a job that fails because of a reboot is retried, and later reports about the failed attempt are rejected', async () => {
      const id = await makeMachine();
      const jobId = await startJob(id, { maxRetries: 1 });
      expect((await performAgentAction(id, { action: 'reboot' })).body).toMatchObject({
        success: true,
        status: 'rebooting',
      });
      expect(await readJob(jobId)).toMatchObject({ status: 'failed', errorCode: 'agent_rebooted' });
      expect(await readRetries(jobId)).toEqual([{ status: 'queued', attempt: 2 }]);
      expect(await readAgent(id)).toMatchObject({ currentJobId: null });
      const agentRef = { organizationId: tenant.organizationId, agentId: id };
      expect(await applyJobReport(harness.db, agentRef, { jobId, status: 'completed' })).toMatchObject({
        accepted: false,
      });
      await sendHandshake(id, 'boot 2');
      expect((await sendHeartbeat(id, 'boot 2')).status).toBe('online');
      expect(await dispatch.startNextJob(id)).toMatchObject({ action: 'start' });
    });

    it('a job that was dispatched but not acknowledged stays queued when its agent is rebooted', async () => {
      const id = await makeMachine();
      const jobId = await launchJob(id);
      await dispatch.startNextJob(id);
      await performAgentAction(id, { action: 'reboot' });
      expect(await readJob(jobId)).toMatchObject({ status: 'queued', errorCode: null });
    });

    it('a forced stop of the agent ends a job that is being cancelled without a retry', async () => {
      const id = await makeMachine();
      const jobId = await startJob(id, { maxRetries: 1 });
      await tenant.api.post(`/api/jobs/${jobId}/cancel`, {});
      await performAgentAction(id, { action: 'stop', force: true });
      await querySql(`UPDATE agent SET status = 'stopped' WHERE id = $1`, [id]);
      expect(await cancelJobsOfStoppedAgent(harness.db, id)).toEqual({ cancelled: 1 });
      expect([(await readJob(jobId)).status, await readRetries(jobId)]).toEqual(['cancelled', []]);
    });

    it.each([
      ['stop', (id: string, force: boolean) => performAgentAction(id, { action: 'stop', force })],
      ['terminate', (id: string, force: boolean) => performActionAsAdmin(id, { action: 'terminate', force })],
      ['DELETE', (id: string, force: boolean) => tenant.as.admin.delete(`/api/agents/${id}?force=${force}`)],
    ])('a running job prevents the request %s; a forced request fails the job', async (name, end) => {
      const id = await makeMachine();
      const jobId = await startJob(id, { maxRetries: 1 });
      const refused = await end(id, false);
      expect([refused.status, refused.body.code, refused.body.jobId]).toEqual([409, 'agent_not_ready', jobId]);
      expect([(await readAgent(id)).status, (await readJob(jobId)).status]).toEqual(['online', 'running']);
      expect((await end(id, true)).status).toBe(name === 'DELETE' ? 204 : 200);
      expect(await readJob(jobId)).toMatchObject({ status: 'failed', errorCode: 'agent_stopped' });
      expect(await readRetries(jobId)).toHaveLength(1);
      const audited = await querySql(
        `SELECT action, changes FROM audit_entry WHERE target_id = $1 AND action = 'job.fail'`,
        [jobId],
      );
      expect(audited).toEqual([{ action: 'job.fail', changes: { errorCode: 'agent_stopped' } }]);
    });

    it('a job that is being cancelled keeps running as long as its agent is not stopped', async () => {
      const id = await makeMachine();
      const jobId = await startJob(id);
      await tenant.api.post(`/api/jobs/${jobId}/cancel`, {});
      await cancelJobsOfStoppedAgent(harness.db, id);
      await cancelJobsOfStoppedAgent(harness.db, newId());
      expect(await readJob(jobId)).toMatchObject({ status: 'running', cancelling: true });
    });
  });
});
