import { Dispatch, DispatchConfig, JobsModule, placeJob } from '@muster/jobs';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('runs that require labels of their agent', () => {
  let harness: Harness;
  let tenant: Tenant;
  let workflowId: string;

  beforeAll(async () => {
    harness = await startHarness({
      ...gateway,
      configs: [...gateway.configs, DispatchConfig],
      modules: [...gateway.modules, JobsModule],
    });
  });
  beforeEach(async () => {
    tenant = await harness.makeTenant();
    workflowId = (await makeWorkflow(harness.db, { organizationId: tenant.organizationId })).id;
  });
  afterAll(() => harness.close());

  const target = { labels: ['front-desk'] };
  const querySql = (sql: string, values: unknown[] = []) => harness.db.query<any>('system', sql, values);
  const makeFitting = async (input: object = {}) => {
    const { organizationId } = tenant;
    const agent = { organizationId, name: newId(), status: 'online', provider: 'docker', labels: ['front-desk'] };
    return (await makeAgent(harness.db, { ...agent, ...input } as never)).id;
  };
  const launchJob = async (body: object = { target }) =>
    (await tenant.api.post('/api/jobs/launch', { workflowId, ...body })).body.jobId as string;
  const placeQueuedJob = (jobId: string) => {
    const dispatch = harness.app.nest.get(Dispatch, { strict: false });
    return placeJob({ database: harness.db, dispatch, now: () => new Date(), wakeTimeoutMs: 60_000 }, jobId);
  };
  const previewPlacement = async (body: object) => {
    const answer = await tenant.as.viewer.post('/api/jobs/placement-preview', { workflowId, ...body });
    return answer.status === 200 ? answer.body : { status: answer.status, code: answer.body.code };
  };
  const readJob = async (id: string) => (await tenant.api.get(`/api/jobs/${id}`)).body;

  describe('the placement preview', () => {
    it('the placement preview reports the idle agent that would start a run, and launches nothing', async () => {
      const agentId = await makeFitting();
      await makeFitting({ labels: ['front-desk', 'north'], status: 'stopped' });
      const why = 'it is the only agent with the required labels that is online and idle';
      const counts = { fits: 2, online: 1, idle: 1 };
      expect(await previewPlacement({ target })).toEqual({ ...counts, would: 'start', agentId, reason: why });
      const named = { fits: 1, online: 1, idle: 1, would: 'start', agentId };
      expect(await previewPlacement({ agentId })).toEqual({ ...named, reason: 'the agent is online and free' });
      expect((await tenant.api.get('/api/jobs')).body.jobs).toEqual([]);
    });

    it('the placement preview names the agent that boots fastest, unless booting agents will take the run', async () => {
      const fast = await makeFitting({ status: 'stopped', bootMs: 10_000 });
      const slow = await makeFitting({ status: 'stopped', bootMs: 90_000 });
      expect(await previewPlacement({ target })).toEqual({
        ...{ fits: 2, online: 0, idle: 0, would: 'wake', agentId: fast },
        reason: 'none of the 2 agents with the required labels is free: 2 off; one is started',
      });
      await querySql(`UPDATE agent SET status = 'starting' WHERE id = $1`, [fast]);
      expect(await previewPlacement({ target })).toMatchObject({ would: 'wait', fits: 2, online: 0 });
      // The boot is for a run that waits, so the next run needs another agent.
      await launchJob();
      expect(await previewPlacement({ target })).toMatchObject({ would: 'wake', agentId: slow });
      await querySql(
        `INSERT INTO agent_wake (id, organization_id, agent_id, state, source, reason, deadline, finished_at)
         VALUES ($1, $2, $3, 'failed', 'api', 'a test', muster_now(), muster_now())`,
        [newId(), tenant.organizationId, slow],
      );
      expect(await previewPlacement({ target })).toMatchObject({ would: 'wait' });
    });

    it('the placement preview reports a wait if all fitting agents are busy, drained, exempt or off without auto-wake', async () => {
      await querySql('UPDATE organization_settings SET vm_auto_wake_on_job = false WHERE organization_id = $1', [
        tenant.organizationId,
      ]);
      const exempt = await makeFitting({ placement: false });
      const drained = await makeFitting({ drain: 'finish', status: 'draining' });
      const stopped = await makeFitting({ status: 'stopped' });
      expect(await previewPlacement({ target })).toEqual({
        ...{ fits: 3, online: 1, idle: 0, would: 'wait' },
        reason:
          'none of the 3 agents with the required labels is free: 1 being drained, 1 off, 1 for runs that name it; the setting vmAutoWakeOnJob is off',
      });
      expect(await previewPlacement({ agentId: exempt })).toMatchObject({ would: 'start', agentId: exempt, idle: 1 });
      const drain = { would: 'wait', agentId: drained, idle: 0, reason: 'the agent is being drained' };
      expect(await previewPlacement({ agentId: drained })).toMatchObject(drain);
      const off = 'the agent is stopped and the setting vmAutoWakeOnJob is off; start it manually';
      expect(await previewPlacement({ agentId: stopped })).toMatchObject({ would: 'wait', reason: off });
    });

    it('the placement preview of an offline agent contains the reason why the agent is offline', async () => {
      const statusReason = 'unhealthy 3 times in a row';
      const agentId = await makeFitting({ status: 'offline', provider: 'external', statusReason });
      expect(await previewPlacement({ agentId })).toMatchObject({
        ...{ would: 'wait', fits: 1, online: 0 },
        reason: `the agent is offline and cannot be started by the service (${statusReason})`,
      });
    });

    it('the placement preview answers 200 with the outcome “refuse” if no agent fits', async () => {
      await makeFitting({ status: 'terminated' });
      const none = { fits: 0, online: 0, idle: 0, would: 'refuse' };
      const reason = 'no_agent_fits: no agent has the label front-desk';
      expect(await previewPlacement({ target })).toEqual({ ...none, reason });
    });

    it('the placement preview refuses invalid bodies, terminated agents and agents of other organizations', async () => {
      const terminated = await makeFitting({ status: 'terminated' });
      expect(await previewPlacement({ agentId: terminated })).toEqual({ status: 404, code: 'agent_not_found' });
      const other = await harness.makeTenant();
      const { id } = await makeAgent(harness.db, { organizationId: other.organizationId });
      expect(await previewPlacement({ agentId: id })).toEqual({ status: 404, code: 'agent_not_found' });
      expect(await previewPlacement({ target, workflowId: newId() })).toEqual({ status: 404, code: 'not_found' });
      const many = { labels: Array.from({ length: 21 }, (_, at) => `label ${at}`) };
      for (const wrong of [{}, { target, agentId: terminated }, { target: { labels: [] } }, { target: many }])
        expect(await previewPlacement(wrong)).toEqual({ status: 400, code: 'invalid_payload' });
    });

    it('the placement preview reports a wait for a full or paused concurrency key whose variables are known', async () => {
      const agentId = await makeFitting();
      const workflow = { name: 'Keyed', variables: ['USER'], script: 'print(1)' };
      const concurrencyKeys = [{ key: 'in:{{USER}}' }];
      const { id } = (await tenant.as.member.post('/api/workflows', { ...workflow, concurrencyKeys })).body;
      const variables = { USER: 'ann' };
      await launchJob({ workflowId: id, agentId, variables });
      await querySql('UPDATE concurrency_lease SET since = muster_now() WHERE organization_id = $1', [
        tenant.organizationId,
      ]);
      const held = { would: 'wait', reason: '1 of at most 1 runs hold the concurrency key in:ann' };
      expect(await previewPlacement({ workflowId: id, target, variables })).toMatchObject(held);
      expect(await previewPlacement({ workflowId: id, agentId, variables })).toMatchObject(held);
      expect(await previewPlacement({ workflowId: id, target, variables: { USER: 'bob' } })).toMatchObject({
        would: 'start',
      });
      expect(await previewPlacement({ workflowId: id, target })).toMatchObject({
        would: 'start',
        reason: expect.stringContaining('keys of the workflow that contain variables were not checked'),
      });
      await tenant.as.admin.put('/api/concurrency-keys', { key: 'in:bob', limit: 0 });
      const paused = { would: 'wait', reason: 'the concurrency key in:bob is paused' };
      expect(await previewPlacement({ workflowId: id, target, variables: { USER: 'bob' } })).toMatchObject(paused);
    });

    it('the placement preview reports a wait, and no wake, if no account for the workflow is free', async () => {
      await makeFitting({ status: 'stopped' });
      const workflow = { name: 'Signs in', script: 'print(1)', accounts: [{ pool: 'portal', as: 'PORTAL' }] };
      const { id } = (await tenant.as.member.post('/api/workflows', workflow)).body;
      const wait = { would: 'wait', reason: 'no account of the pool portal is free' };
      expect(await previewPlacement({ workflowId: id, target })).toMatchObject(wait);
      await tenant.as.admin.put('/api/vault/PORTAL_USER', { value: 'ann' });
      await tenant.as.admin.put('/api/accounts/ann', { vaultKeys: { username: 'PORTAL_USER' }, pool: 'portal' });
      expect(await previewPlacement({ workflowId: id, target })).toMatchObject({ would: 'wake' });
    });

    it('the placement preview reports a refusal if the workflow has nothing to run or the run limit is used up', async () => {
      await makeFitting();
      const { id } = await makeWorkflow(harness.db, { organizationId: tenant.organizationId, script: ' ' });
      const nothing = { would: 'refuse', reason: expect.stringContaining('nothing_to_run') };
      expect(await previewPlacement({ workflowId: id, target })).toMatchObject(nothing);
      await tenant.as.admin.patch('/api/organization/settings', { monthlyRunLimit: 0 });
      const gate = { would: 'refuse', reason: expect.stringContaining('billing_gate_closed') };
      expect(await previewPlacement({ target })).toMatchObject(gate);
    });
  });

  const bodiesOfPost: [string, (body: object) => object][] = [
    ['/api/jobs/launch', (body) => body],
    [
      '/api/jobs/batch',
      ({ agentId, ...body }: any) => ({ rows: [{}], ...(agentId && { agentIds: [agentId] }), ...body }),
    ],
    [
      '/api/schedules',
      ({ workflowId: scriptId, ...body }: any) => ({ name: 'Nightly', scriptId, cronExpression: '0 3 * * *', ...body }),
    ],
  ];
  it.each(bodiesOfPost)(
    'POST %s requires either an agent or a target, whose labels must fit an agent',
    async (path, form) => {
      const agentId = await makeFitting({ labels: ['front-desk', 'x'.repeat(64)] });
      await makeFitting({ labels: ['south'], status: 'stopped' });
      const postSchedule = (body: object) => tenant.as.member.post(path, form({ workflowId, ...body }));
      const many = Array.from({ length: 21 }, (_, at) => `label ${at}`);
      const wrongs = [
        ...[{}, { agentId, target }, { target: {} }, { target: { labels: [] } }, { target: { labels: [''] } }],
        ...[
          { target: { labels: many } },
          { target: { labels: ['x'.repeat(65)] } },
          { target: { labels: 'front-desk' } },
        ],
        ...[{ target: { ...target, prefer: 'fastest' } }, { target: { ...target, machine: 'x' } }],
      ];
      for (const wrong of wrongs)
        expect((await postSchedule(wrong)).body).toMatchObject({ code: 'invalid_payload', status: 400 });
      const misfits = [
        [
          ['front-desk', 'x-ray', 'Front-Desk'],
          ['x-ray', 'Front-Desk'],
        ],
        [['front-desk', 'south'], []],
      ];
      for (const [required, labels] of misfits) {
        const { body } = await postSchedule({ target: { labels: required } });
        expect(body).toMatchObject({ status: 409, code: 'no_agent_fits', labels });
      }
      expect((await tenant.api.get('/api/jobs')).body.jobs).toEqual([]);
      const fits = { labels: ['front-desk', 'x'.repeat(64)], prefer: 'spread' };
      const { status, body } = await postSchedule({ target: fits });
      expect(status).toBeLessThan(300);
      if (path === '/api/schedules') {
        expect(body).toMatchObject({ agentId: null, target: fits });
        const changeSchedule = (part: object) => tenant.as.member.put(`/api/schedules/${body.id}`, part);
        expect((await changeSchedule({ agentId })).body).toMatchObject({ agentId, target: null });
        const changed = { agentId: null, target: { ...target, prefer: 'running' } };
        expect((await changeSchedule({ target })).body).toMatchObject(changed);
        expect((await changeSchedule({ target, agentId })).status).toBe(400);
        expect((await changeSchedule({ target: { labels: ['x-ray'] } })).body).toMatchObject({
          status: 409,
          labels: ['x-ray'],
        });
      } else {
        expect((await tenant.api.get('/api/jobs')).body.jobs).toMatchObject([{ agentId: null, target: fits }]);
      }
    },
  );

  it('runs can be listed by a label of their target', async () => {
    const agentId = await makeFitting({ labels: ['front-desk', 'north'] });
    const [one, both] = [await launchJob(), await launchJob({ target: { labels: ['front-desk', 'north'] } })];
    await launchJob({ agentId });
    const listJobIds = async (search: string) =>
      (await tenant.as.viewer.get(`/api/jobs?${search}`)).body.jobs.map(({ id }: { id: string }) => id).sort();
    expect(await listJobIds('target=front-desk')).toEqual([one, both].sort());
    expect(await listJobIds('target=north')).toEqual([both]);
    expect(await listJobIds('target=front')).toEqual([]);
    expect((await tenant.api.get('/api/jobs/export?target=north')).text).toContain(both);
    expect((await tenant.api.get(`/api/jobs?target=${'x'.repeat(65)}`)).status).toBe(400);
  });

  it('an agent with placement turned off counts as fitting, but starts only runs that name it', async () => {
    const agentId = await makeFitting();
    const patchAgent = (body: object, as = tenant.as.admin) => as.patch(`/api/agents/${agentId}`, body);
    expect((await tenant.api.get(`/api/agents/${agentId}`)).body.placement).toBe(true);
    expect((await patchAgent({ placement: false }, tenant.as.viewer)).status).toBe(403);
    for (const wrong of ['no', null, 0]) expect((await patchAgent({ placement: wrong })).status).toBe(400);
    expect((await patchAgent({ placement: false })).body).toMatchObject({ placement: false, labels: target.labels });
    const jobId = await launchJob();
    await placeQueuedJob(jobId);
    expect(await readJob(jobId)).toMatchObject({
      agentId: null,
      placement: null,
      waiting: { detail: { fits: 1, busy: 0 } },
    });
    const named = await launchJob({ agentId });
    await harness.app.nest.get(Dispatch, { strict: false }).startNextJob(agentId);
    expect((await querySql('SELECT command_id FROM job WHERE id = $1', [named]))[0].commandId).not.toBeNull();
    expect((await patchAgent({ placement: true })).body.placement).toBe(true);
    const [entry] = (await tenant.as.admin.get(`/api/audit?targetId=${agentId}`)).body.entries;
    expect(entry).toMatchObject({ action: 'agent.update', changes: { placement: [false, true] } });
  });

  it('a run that waits for an agent shows how many agents fit, and a placed run shows where and why it was placed', async () => {
    const busy = await makeFitting({ currentJobId: newId() });
    await makeFitting({ status: 'starting' });
    await makeFitting({ status: 'draining', drain: 'finish' });
    await makeFitting({ status: 'stopped' });
    await makeFitting({ status: 'terminated' });
    const jobId = await launchJob();
    await placeQueuedJob(jobId);
    const detail = { fits: 4, busy: 1, waking: 1, draining: 1, off: 1 };
    expect(await readJob(jobId)).toMatchObject({
      ...{ agentId: null, placement: null, target: { ...target, prefer: 'running' } },
      waiting: { reason: 'agent_waking', since: expect.stringMatching(/^20/), detail },
    });
    await querySql('UPDATE agent SET current_job_id = NULL WHERE id = $1', [busy]);
    await placeQueuedJob(jobId);
    const why = 'it is the only agent with the required labels that is online and idle';
    expect(await readJob(jobId)).toMatchObject({
      ...{ agentId: busy, waiting: null, target: { ...target, prefer: 'running' } },
      placement: { agentId: busy, why, at: expect.stringMatching(/^20/) },
    });
    const { entries } = (await tenant.api.get(`/api/jobs/${jobId}/logs`)).body;
    const timeline = (await tenant.api.get(`/api/agents/${busy}/logs?jobId=${jobId}`)).body.entries;
    const placed = [...entries, ...timeline].filter(({ data }) => data?.chosen);
    expect(placed.length).toBeGreaterThan(0);
    for (const { source, data } of placed)
      expect({ source, data }).toMatchObject({ source: 'dispatcher', data: { considered: 4, chosen: busy, why } });
  });
});
