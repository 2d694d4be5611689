import { type Harness, makeAgent, makeJob, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('jobs', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentId: string;
  let workflowId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    agentId = (await makeAgent(harness.db, { organizationId, status: 'online' })).id;
    workflowId = (await makeWorkflow(harness.db, { organizationId, variables: ['CLAIM_ID'] })).id;
  });
  afterAll(() => harness.close());

  const launchJob = (body: object = {}, client = tenant.api) =>
    client.post('/api/jobs/launch', { workflowId, agentId, variables: { CLAIM_ID: 'C-1' }, ...body });
  const queryRows = <T extends object>(sql: string, values: unknown[] = []) =>
    harness.db.query<T & object>('system', sql, values);

  it('a launch queues a job with the workflow’s current revision', async () => {
    const launched = await launchJob({
      priority: 9,
      maxRetries: 2,
      retryDelayMs: 10,
      maxRuntimeMs: 60_000,
      maxCostUsd: 2.5,
    });
    expect([launched.status, launched.headers.get('location')]).toEqual([202, `/api/jobs/${launched.body.jobId}`]);
    expect(launched.body).toEqual({ jobId: expect.any(String), status: 'queued' });
    await tenant.api.post(`/api/workflows/${workflowId}/save`, { script: 'print(2)' });
    const job = await tenant.api.get(`/api/jobs/${launched.body.jobId}`);
    expect(job.body).toMatchObject({
      id: launched.body.jobId,
      status: 'queued',
      cancelling: false,
      workflowRevision: 1,
      agentId,
      attempt: 1,
      priority: 9,
      maxRetries: 2,
      maxRuntimeMs: 60_000,
      maxCostUsd: 2.5,
      variables: { CLAIM_ID: 'C-1' },
      progress: { percent: 0, stepsTotal: 0, stepsPassed: 0, stepsFailed: 0, currentStep: null },
      claims: { attempted: 0, eobUploaded: 0, noEobFound: 0, failed: 0 },
      startedAt: null,
      error: null,
      screenshotUrl: null,
    });
  });

  it.each([
    ['an unknown variable', { variables: { CLAIM_ID: 'C', OTHER: 'x' } }, 400, 'variables.OTHER'],
    ['a missing variable', { variables: {} }, 400, 'variables.CLAIM_ID'],
    ['a variable that is not a text', { variables: { CLAIM_ID: 1 } }, 400, 'variables'],
    ['a priority out of range', { priority: 11 }, 400, 'priority'],
    ['a negative budget', { maxCostUsd: -0.01 }, 400, 'maxCostUsd'],
    ['a budget with a fraction of a micro-dollar', { maxCostUsd: 0.0000001 }, 400, 'maxCostUsd'],
    ['a budget that is not a number', { maxCostUsd: '1' }, 400, 'maxCostUsd'],
    ['an unknown agent', { agentId: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }, 404, undefined],
    ['an unknown workflow', { workflowId: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }, 404, undefined],
  ])('a launch with %s is refused', async (_, change, status, field) => {
    const before = await queryRows('SELECT id FROM job');
    const answer = await launchJob(change);
    expect([answer.status, answer.body.errors?.[0]?.field]).toEqual([status, field]);
    expect(await queryRows('SELECT id FROM job')).toHaveLength(before.length);
  });

  it('a launch is refused for a viewer and on a machine of another organization', async () => {
    expect((await launchJob({}, tenant.as.viewer)).status).toBe(403);
    const other = await harness.makeTenant();
    expect((await launchJob({}, other.api)).status).toBe(404);
  });

  it('launches with the same Idempotency-Key create one job', async () => {
    const once = tenant.api.with({ 'idempotency-key': 'nightly-1' });
    const [first, second] = [await launchJob({}, once), await launchJob({}, once)];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect((await launchJob({ priority: 1 }, once)).status).toBe(422);
  });

  it('an agent’s started runs are listed with the latest start first, without queued jobs', async () => {
    const { organizationId } = tenant;
    const { id } = await makeAgent(harness.db, { organizationId, name: 'Runs', status: 'online' });
    const makeRunStartedAt = (minutes: number, more: object = {}) => {
      const startedAt = new Date(Date.UTC(2026, 0, 1, 9, minutes));
      return makeJob(harness.db, { organizationId, workflowId, agentId: id, status: 'completed', startedAt, ...more });
    };
    // The job that was queued first starts last.
    const last = await makeRunStartedAt(59, { status: 'running' });
    for (let minute = 0; minute < 25; minute += 1) await makeRunStartedAt(minute, { finishedAt: new Date() });
    for (let n = 0; n < 20; n += 1) await makeJob(harness.db, { organizationId, workflowId, agentId: id });
    const { runs } = (await tenant.as.viewer.get(`/api/agents/${id}/runs`)).body;
    expect(runs).toHaveLength(20);
    expect(runs[0]).toMatchObject({ id: last.id, status: 'running' });
    const starts = runs.map(({ startedAt }: { startedAt: string }) => startedAt);
    expect(starts).toEqual([...starts].sort().reverse());
    expect(starts.at(-1)).toBe('2026-01-01T09:06:00.000Z');
  });

  it('a launch is refused with 402 and the reason if the month’s limit is used up, counting open runs', async () => {
    const limited = await harness.makeTenant();
    const { organizationId } = limited;
    const body = {
      agentId: (await makeAgent(harness.db, { organizationId })).id,
      workflowId: (await makeWorkflow(harness.db, { organizationId })).id,
    };
    await limited.as.admin.patch('/api/organization/settings', { monthlyRunLimit: 1 });
    expect((await limited.api.post('/api/jobs/launch', body)).status).toBe(202);
    const refused = await limited.api.post('/api/jobs/launch', body);
    expect([refused.status, refused.body.code]).toEqual([402, 'billing_gate_closed']);
    expect(refused.body.detail).toContain('limit of 1 runs');
    const usage = await limited.api.get('/api/usage');
    expect(usage.body).toMatchObject({ runs: 0, canLaunchRuns: false, limits: { monthlyRunLimit: 1 } });
  });

  it('waiting jobs are dispatched again when a setting or a vault secret changes', async () => {
    const other = await harness.makeTenant();
    const { organizationId } = other;
    const { id: agentRefId } = await makeAgent(harness.db, { organizationId });
    await makeAgent(harness.db, { organizationId, name: 'Without a job' });
    await makeJob(harness.db, { organizationId, agentId: agentRefId, status: 'queued' });
    const takeEnqueuedMessages = async () => {
      const found = await queryRows<{ id: string }>(
        `WITH deleted_messages AS (DELETE FROM outbox WHERE organization_id = $1 RETURNING name, payload)
         SELECT payload->>'agentId' AS id FROM deleted_messages WHERE name = 'dispatch-agent'`,
        [organizationId],
      );
      return found.map(({ id }) => id);
    };
    await other.as.admin.patch('/api/organization/settings', { vmAutoWakeOnJob: true });
    expect(await takeEnqueuedMessages()).toEqual([agentRefId]);
    await other.as.admin.put('/api/vault/PORTAL', { value: 'secret' });
    expect(await takeEnqueuedMessages()).toEqual([agentRefId]);
  });

  it('a run accepts its workflow’s id as workflowId or scriptId, but not two different ids', async () => {
    const requestRun = (body: object) =>
      tenant.api.post(`/api/agents/${agentId}/run`, { variables: { CLAIM_ID: 'C' }, ...body });
    expect((await requestRun({ scriptId: workflowId })).status).toBe(202);
    expect((await requestRun({ workflowId, scriptId: workflowId })).status).toBe(202);
    expect((await requestRun({ workflowId, scriptId: agentId })).status).toBe(400);
    expect((await requestRun({})).status).toBe(400);
  });

  it('jobs are listed newest first, page by page and by filter', async () => {
    const { organizationId } = tenant;
    const lone = await makeJob(harness.db, { organizationId, status: 'completed' });
    const filtered = await tenant.api.get(`/api/jobs?agentId=${lone.agentId}&status=completed`);
    expect(filtered.body.jobs.map(({ id }: { id: string }) => id)).toEqual([lone.id]);
    expect((await tenant.api.get(`/api/jobs?agentId=${lone.agentId}&status=failed`)).body.jobs).toEqual([]);
    const received: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: { body: { jobs: { id: string }[]; nextCursor: string | null } } = await tenant.api.get(
        `/api/jobs?limit=2${cursor ? `&cursor=${cursor}` : ''}`,
      );
      received.push(...page.body.jobs.map(({ id }) => id));
      cursor = page.body.nextCursor;
    }
    const all = await queryRows<{ id: string }>('SELECT id FROM job WHERE organization_id = $1 ORDER BY id DESC', [
      organizationId,
    ]);
    expect(received).toEqual(all.map(({ id }) => id));
  });

  it('a job that has not started is cancelled immediately, but only once', async () => {
    const { body } = await launchJob();
    const cancelled = await tenant.api.post(`/api/jobs/${body.jobId}/cancel`, { reason: 'by mistake' });
    expect([cancelled.status, cancelled.body.status, cancelled.body.error]).toEqual([202, 'cancelled', 'by mistake']);
    expect((await tenant.api.post(`/api/jobs/${body.jobId}/cancel`)).status).toBe(409);
    const status = await tenant.api.get(`/api/job-status?jobId=${body.jobId}`);
    expect(status.body).toMatchObject({ jobId: body.jobId, status: 'cancelled', finishedAt: expect.any(String) });
  });

  it('a page of jobs ends early if the jobs are large, without leaving out a job', async () => {
    const { organizationId } = tenant;
    const { id } = await makeAgent(harness.db, { organizationId, name: 'Large', status: 'online' });
    const large = { DATA: 'x'.repeat(900_000) };
    for (let n = 0; n < 7; n += 1)
      await makeJob(harness.db, { organizationId, workflowId, agentId: id, variables: large });
    const found: string[] = [];
    const sizes: number[] = [];
    let cursor: string | null = null;
    do {
      const answer: { body: any } = await tenant.api.get(
        `/api/jobs?agentId=${id}&limit=200${cursor ? `&cursor=${cursor}` : ''}`,
      );
      found.push(...answer.body.jobs.map((job: { id: string }) => job.id));
      sizes.push(answer.body.jobs.length);
      cursor = answer.body.nextCursor;
    } while (cursor);
    expect(sizes).toEqual([3, 3, 1]);
    expect(new Set(found).size).toBe(7);
  });

  it('a job can be cancelled and replayed without a request body, and unknown fields are refused', async () => {
    const { body } = await launchJob();
    const countJobs = async () => (await tenant.api.get('/api/jobs?limit=200')).body.jobs.length;
    const before = await countJobs();
    const postWithoutBody = (path: string) =>
      fetch(`${harness.url}${path}`, { method: 'POST', headers: tenant.api.headers });
    expect((await postWithoutBody(`/api/jobs/${body.jobId}/cancel`)).status).toBe(202);
    const surplus = await tenant.api.post(`/api/jobs/${body.jobId}/replay`, { surplus: 1 });
    expect([surplus.status, surplus.body.errors]).toEqual([
      400,
      [{ field: 'surplus', message: 'property surplus should not exist' }],
    ]);
    expect(await countJobs()).toBe(before);
    expect((await postWithoutBody(`/api/jobs/${body.jobId}/replay`)).status).toBe(202);
  });

  it('a launch with an invalid name of a vault secret is refused', async () => {
    const answer = await launchJob({ vaultKeys: ['FINE', 'bad name'] });
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, 'vaultKeys.1']);
    expect((await launchJob({ vaultKeys: ['PATH'] })).status).toBe(400);
  });

  it('a secret that the vault does not have is refused and named in every route that accepts secrets', async () => {
    await tenant.as.admin.put('/api/vault/PORTAL_KNOWN', { value: 'x' });
    const vaultKeys = ['PORTAL_KNOWN', 'PORTAL_GONE'];
    const variables = { CLAIM_ID: 'C-1' };
    const cron = { name: 'n', scriptId: workflowId, cronExpression: '0 6 * * *' };
    const before = (await tenant.api.get('/api/jobs?limit=200')).body.jobs.length;
    const answers = [
      await launchJob({ vaultKeys }),
      await tenant.api.post(`/api/agents/${agentId}/run`, { workflowId, variables, vaultKeys }),
      await tenant.api.post('/api/jobs/batch', { workflowId, agentIds: [agentId], rows: [variables], vaultKeys }),
      await tenant.api.post('/api/schedules', { ...cron, agentId, variables, vaultKeys }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.body.errors]).toEqual([
        400,
        [{ field: 'vaultKeys.1', message: 'the vault has no secret PORTAL_GONE' }],
      ]);
    }
    expect((await tenant.api.get('/api/jobs?limit=200')).body.jobs).toHaveLength(before);
    const { body } = await launchJob({ vaultKeys: ['PORTAL_KNOWN'] });
    await tenant.api.post(`/api/jobs/${body.jobId}/cancel`);
    await tenant.as.admin.delete('/api/vault/PORTAL_KNOWN');
    const replayed = await tenant.api.post(`/api/jobs/${body.jobId}/replay`);
    expect([replayed.status, replayed.body.detail]).toEqual([400, 'the vault has no secret PORTAL_KNOWN.']);
  });

  it('an ended job can be replayed with its original settings', async () => {
    const { body } = await launchJob({ priority: 3 });
    expect((await tenant.api.post(`/api/jobs/${body.jobId}/replay`)).status).toBe(409);
    await tenant.api.post(`/api/jobs/${body.jobId}/cancel`);
    const replayed = await tenant.api.post(`/api/jobs/${body.jobId}/replay`);
    const [again, before] = await Promise.all(
      [replayed.body.jobId, body.jobId].map(async (id) => (await tenant.api.get(`/api/jobs/${id}`)).body),
    );
    expect(again).toMatchObject({
      status: 'queued',
      priority: 3,
      variables: before.variables,
      workflowRevision: before.workflowRevision,
      retryOf: null,
    });
  });

  it('only users can delete a job, with all its data except the usage event', async () => {
    const { organizationId } = tenant;
    const { id, agentId: agentRefId } = await makeJob(harness.db, { organizationId, status: 'completed' });
    await queryRows(
      `INSERT INTO job_step (job_id, step_order, organization_id, status, state_key) VALUES ($1, 1, $2, 'passed', 1)`,
      [id, organizationId],
    );
    await queryRows(
      `INSERT INTO usage_event (job_id, kind, organization_id, month) VALUES ($1, 'run', $2, '2026-01-01')`,
      [id, organizationId],
    );
    await queryRows(
      `INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, message, job_id) VALUES ($1, 1, $2, 'execution', 'x', $3)`,
      [agentRefId, organizationId, id],
    );
    expect((await tenant.api.delete(`/api/jobs/${id}`)).status).toBe(403);
    expect((await tenant.as.member.delete(`/api/jobs/${id}`)).status).toBe(204);
    expect((await tenant.api.get(`/api/jobs/${id}`)).status).toBe(404);
    expect(await queryRows('SELECT FROM job_step WHERE job_id = $1', [id])).toEqual([]);
    expect(await queryRows('SELECT FROM timeline_entry WHERE job_id = $1', [id])).toEqual([]);
    expect(await queryRows('SELECT FROM usage_event WHERE job_id = $1', [id])).toHaveLength(1);
    expect((await tenant.as.viewer.delete(`/api/jobs/${id}`)).status).toBe(403);
    expect((await tenant.as.member.delete(`/api/jobs/${id}`)).status).toBe(404);
  });
});
