import { behindLock, makeAgent, makeWorkflow } from '@muster/testing';
import { SchedulesLab } from './schedules.harness';

describe('schedules', () => {
  const lab = new SchedulesLab();

  beforeAll(() => lab.open());
  afterAll(() => lab.harness.close());
  beforeEach(() => lab.begin());

  it('creates a schedule with all defaults, and returns its next run', async () => {
    const made = await lab.tenant.as.member.post('/api/schedules', lab.body());
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`/api/schedules/${made.body.id}`);
    expect(made.headers.get('etag')).toBe('"1"');
    expect(made.body).toEqual({
      id: expect.any(String),
      name: 'Nightly',
      scriptId: lab.scriptId,
      agentId: lab.agentId,
      cronExpression: '*/5 * * * *',
      timezone: 'UTC',
      enabled: true,
      variables: { CLAIM_ID: 'C-1' },
      vaultKeys: [],
      concurrencyKeys: [],
      maxRuntimeMinutes: 720,
      maxRetries: 0,
      retryDelaySeconds: 0,
      concurrencyLimit: null,
      idempotencyWindowMinutes: null,
      misfirePolicy: 'once',
      maxCostUsd: null,
      workflowPackInstallationId: null,
      nextRunAt: '2026-03-02T09:05:00.000Z',
      lastRunAt: null,
      lastRunJobId: null,
      lastResult: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(await lab.read(made.body.id)).toEqual({ ...made.body, recentRuns: [] });
    expect((await lab.tenant.as.viewer.get('/api/schedules')).body).toEqual({
      schedules: [made.body],
      nextCursor: null,
    });
    expect((await lab.tenant.as.admin.get('/api/audit?action=schedule.create')).body.entries).toHaveLength(1);
  });

  it('keeps a concurrent change of another field', async () => {
    const id = await lab.make();
    const [answer] = await behindLock(
      lab.harness.db,
      (tx) => tx.query('SELECT id FROM schedule WHERE id = $1 FOR UPDATE', [id]),
      () => [lab.tenant.api.put(`/api/schedules/${id}`, { name: 'Renamed' })],
      (tx) => tx.execute('UPDATE schedule SET max_retries = 7 WHERE id = $1', [id]),
    );
    expect(answer).toMatchObject({ status: 200, body: { name: 'Renamed', maxRetries: 7 } });
  });

  it('applies a schedule’s budget to each of its runs', async () => {
    const id = await lab.make({ maxCostUsd: 3 });
    expect(await lab.read(id)).toMatchObject({ maxCostUsd: 3 });
    const run = await lab.tenant.api.post('/api/schedules/execute', { scheduleId: id, force: true });
    const { jobId } = run.body.launched[0];
    expect((await lab.tenant.api.get(`/api/jobs/${jobId}`)).body.maxCostUsd).toBe(3);
    const changed = await lab.tenant.api.put(`/api/schedules/${id}`, { maxCostUsd: null });
    expect(changed.body.maxCostUsd).toBeNull();
  });

  it('adds a schedule’s concurrency keys to its runs, and refuses keys with unknown variables', async () => {
    const keys = [{ key: 'claim:{{CLAIM_ID}}', limit: 2 }];
    const id = await lab.make({ concurrencyKeys: keys });
    expect((await lab.read(id)).concurrencyKeys).toEqual(keys);
    await lab.tenant.api.post('/api/schedules/execute', { scheduleId: id, force: true });
    expect((await lab.tenant.api.get('/api/concurrency-keys?q=claim')).body.concurrencyKeys).toMatchObject([
      { key: 'claim:C-1', limit: 2 },
    ]);
    const wrong = await lab.tenant.api.put(`/api/schedules/${id}`, {
      concurrencyKeys: [{ key: '{{PORTAL_PASSWORD}}' }],
    });
    expect([wrong.status, wrong.body.errors[0].field]).toEqual([400, 'concurrencyKeys.0.key']);
    expect((await lab.read(id)).concurrencyKeys).toEqual(keys);
    const none = await lab.tenant.api.put(`/api/schedules/${id}`, { concurrencyKeys: [] });
    expect(none.body.concurrencyKeys).toEqual([]);
  });

  it('uses the organization’s time zone if none is specified', async () => {
    await lab.setting(`timezone = 'America/Chicago'`);
    expect(await lab.read(await lab.make({ cronExpression: '0 6 * * *' }))).toMatchObject({
      timezone: 'America/Chicago',
      nextRunAt: '2026-03-02T12:00:00.000Z',
    });
  });

  it.each([
    [{ cronExpression: '' }, 'cronExpression'],
    [{ cronExpression: '0 0 31 2 *' }, 'cronExpression'],
    [{ cronExpression: '* * * * * *' }, 'cronExpression'],
    [{ timezone: 'Mars/Olympus' }, 'timezone'],
    [{ maxRuntimeMinutes: 1321 }, 'maxRuntimeMinutes'],
    [{ maxRuntimeMinutes: 0 }, 'maxRuntimeMinutes'],
    [{ concurrencyLimit: 0 }, 'concurrencyLimit'],
    [{ maxRetries: -1 }, 'maxRetries'],
    [{ misfirePolicy: 'never' }, 'misfirePolicy'],
    [{ variables: {} }, 'variables.CLAIM_ID'],
    [{ variables: { CLAIM_ID: 'x', OTHER: 'y' } }, 'variables.OTHER'],
    [{ variables: { CLAIM_ID: 1 } }, 'variables'],
    [{ vaultKeys: ['PATH'] }, 'vaultKeys.0'],
    [{ vaultKeys: ['A-B'] }, 'vaultKeys.0'],
    [{ surprise: 1 }, 'surprise'],
  ])('refuses %j, and names the field', async (change, field) => {
    const answer = await lab.tenant.api.post('/api/schedules', lab.body(change));
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
    const id = await lab.make();
    const changed = await lab.tenant.api.put(`/api/schedules/${id}`, change);
    expect([changed.status, changed.body.errors[0].field]).toEqual([400, field]);
  });

  it('refuses a workflow or an agent of another organization', async () => {
    const other = await lab.harness.makeTenant();
    const foreign = {
      scriptId: (await makeWorkflow(lab.harness.db, { organizationId: other.organizationId })).id,
      agentId: (await makeAgent(lab.harness.db, { organizationId: other.organizationId })).id,
    };
    for (const [field, id] of Object.entries(foreign)) {
      expect((await lab.tenant.api.post('/api/schedules', lab.body({ [field]: id }))).status).toBe(404);
      expect((await lab.tenant.api.put(`/api/schedules/${await lab.make()}`, { [field]: id })).status).toBe(404);
    }
  });

  it('changes only the specified fields, and only at the revision that If-Match names', async () => {
    const id = await lab.make();
    const changed = await lab.tenant.api
      .with({ 'if-match': '"1"' })
      .put(`/api/schedules/${id}`, { name: 'Weekly', cronExpression: '0 6 * * MON', concurrencyLimit: 2 });
    expect(changed.body).toMatchObject({
      name: 'Weekly',
      nextRunAt: '2026-03-09T06:00:00.000Z',
      concurrencyLimit: 2,
      variables: { CLAIM_ID: 'C-1' },
    });
    expect(changed.headers.get('etag')).toBe('"2"');
    expect(
      (await lab.tenant.api.with({ 'if-match': '"1"' }).put(`/api/schedules/${id}`, { name: 'Late' })).status,
    ).toBe(412);
    expect(
      (await lab.tenant.api.put(`/api/schedules/${id}`, { concurrencyLimit: null })).body.concurrencyLimit,
    ).toBeNull();
    expect((await lab.tenant.as.admin.get('/api/audit?action=schedule.update')).body.entries).toHaveLength(2);
  });

  it('keeps the next run when other fields change', async () => {
    const id = await lab.make();
    lab.clock.advance(3_600_000);
    expect((await lab.tenant.api.put(`/api/schedules/${id}`, { name: 'x' })).body.nextRunAt).toBe(
      '2026-03-02T09:05:00.000Z',
    );
  });

  it('can be disabled after its workflow was archived, but not enabled again', async () => {
    const id = await lab.make();
    await lab.tenant.api.delete(`/api/workflows/${lab.scriptId}`);
    expect((await lab.tenant.api.put(`/api/schedules/${id}`, { name: 'x', enabled: false })).status).toBe(200);
    expect((await lab.tenant.api.put(`/api/schedules/${id}`, { enabled: true })).status).toBe(404);
  });

  it('is disabled by DELETE, and deleted with hard=true', async () => {
    const id = await lab.make();
    expect((await lab.tenant.api.delete(`/api/schedules/${id}`)).status).toBe(204);
    expect(await lab.read(id)).toMatchObject({ enabled: false, nextRunAt: null });
    lab.clock.advance(3_600_000);
    expect(await lab.execute({ scheduleId: id })).toMatchObject({ skipped: [{ scheduleId: id, reason: 'disabled' }] });
    expect((await lab.tenant.api.put(`/api/schedules/${id}`, { enabled: true })).body.nextRunAt).toBe(
      '2026-03-02T10:05:00.000Z',
    );
    await lab.execute({ scheduleId: id, force: true });
    expect((await lab.tenant.api.delete(`/api/schedules/${id}?hard=perhaps`)).status).toBe(400);
    expect((await lab.tenant.api.delete(`/api/schedules/${id}?hard=true`)).status).toBe(204);
    expect((await lab.tenant.api.get(`/api/schedules/${id}`)).status).toBe(404);
    expect(await lab.rows('SELECT FROM schedule_run WHERE schedule_id = $1', id)).toEqual([]);
    expect(await lab.jobs()).toHaveLength(1);
  });

  it('can only be read by a viewer', async () => {
    const id = await lab.make();
    const { viewer } = lab.tenant.as;
    for (const answer of [
      await viewer.post('/api/schedules', lab.body()),
      await viewer.put(`/api/schedules/${id}`, { name: 'x' }),
      await viewer.delete(`/api/schedules/${id}`),
      await viewer.post('/api/schedules/execute', {}),
      await viewer.post('/api/schedules/execute', { dryRun: true }),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([403, 'permission_denied']);
    }
    expect((await viewer.get(`/api/schedules/${id}`)).status).toBe(200);
  });

  it('is created once for requests with the same Idempotency-Key', async () => {
    const client = lab.tenant.api.with({ 'idempotency-key': 'k1' });
    const [first, again] = [
      await client.post('/api/schedules', lab.body()),
      await client.post('/api/schedules', lab.body()),
    ];
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect((await client.post('/api/schedules', lab.body({ name: 'other' }))).status).toBe(422);
  });

  describe('preview', () => {
    it('shows the next runs, and how daylight saving time shifts them', async () => {
      const id = await lab.make({ cronExpression: '30 2 * * *', timezone: 'America/New_York' });
      lab.clock.set('2026-03-07T12:00:00.000Z');
      expect((await lab.tenant.api.get(`/api/schedules/${id}/preview?count=2`)).body).toEqual({
        cronExpression: '30 2 * * *',
        timezone: 'America/New_York',
        runs: [
          { at: '2026-03-08T07:00:00.000Z', local: '2026-03-08T03:00:00-04:00', shift: 'gap' },
          { at: '2026-03-09T06:30:00.000Z', local: '2026-03-09T02:30:00-04:00', shift: null },
        ],
      });
      expect((await lab.tenant.api.get(`/api/schedules/${id}/preview`)).body.runs).toHaveLength(10);
      expect((await lab.tenant.api.get(`/api/schedules/${id}/preview?count=101`)).status).toBe(400);
    });

    it('shows the runs of an expression that is not saved', async () => {
      const answer = await lab.tenant.as.viewer.post('/api/schedules/preview', {
        cronExpression: '0 0 * * *',
        timezone: 'Asia/Kathmandu',
      });
      expect(answer.body.runs[0]).toEqual({
        at: '2026-03-02T18:15:00.000Z',
        local: '2026-03-03T00:00:00+05:45',
        shift: null,
      });
      const refused = await lab.tenant.api.post('/api/schedules/preview', {
        cronExpression: '@daily',
        timezone: 'UTC',
      });
      expect([refused.status, refused.body.errors[0].field]).toEqual([400, 'cronExpression']);
    });
  });
});
