import { runBehindLock, makeAgent, makeWorkflow } from '@muster/testing';
import { SchedulesFixture } from './schedules.harness';

describe('schedules', () => {
  const fixture = new SchedulesFixture();

  beforeAll(() => fixture.openFixture());
  afterAll(() => fixture.harness.close());
  beforeEach(() => fixture.resetState());

  it('a new schedule has all defaults and shows its next run', async () => {
    const created = await fixture.tenant.as.member.post('/api/schedules', fixture.buildBody());
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(`/api/schedules/${created.body.id}`);
    expect(created.headers.get('etag')).toBe('"1"');
    expect(created.body).toEqual({
      id: expect.any(String),
      name: 'Nightly',
      scriptId: fixture.scriptId,
      agentId: fixture.agentId,
      target: null,
      cronExpression: '*/5 * * * *',
      timezone: 'UTC',
      enabled: true,
      variables: { CLAIM_ID: 'C-1' },
      vaultKeys: [],
      concurrencyKeys: [],
      accounts: [],
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
    expect(await fixture.readSchedule(created.body.id)).toEqual({ ...created.body, recentRuns: [] });
    expect((await fixture.tenant.as.viewer.get('/api/schedules')).body).toEqual({
      schedules: [created.body],
      nextCursor: null,
    });
    expect((await fixture.tenant.as.admin.get('/api/audit?action=schedule.create')).body.entries).toHaveLength(1);
  });

  it('a change of a schedule keeps a concurrent change of another field', async () => {
    const id = await fixture.createSchedule();
    const [answer] = await runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT id FROM schedule WHERE id = $1 FOR UPDATE', [id]),
      () => [fixture.tenant.api.put(`/api/schedules/${id}`, { name: 'Renamed' })],
      (tx) => tx.execute('UPDATE schedule SET max_retries = 7 WHERE id = $1', [id]),
    );
    expect(answer).toMatchObject({ status: 200, body: { name: 'Renamed', maxRetries: 7 } });
  });

  it('a schedule’s budget applies to each of its runs', async () => {
    const id = await fixture.createSchedule({ maxCostUsd: 3 });
    expect(await fixture.readSchedule(id)).toMatchObject({ maxCostUsd: 3 });
    const run = await fixture.tenant.api.post('/api/schedules/execute', { scheduleId: id, force: true });
    const { jobId } = run.body.launched[0];
    expect((await fixture.tenant.api.get(`/api/jobs/${jobId}`)).body.maxCostUsd).toBe(3);
    const changed = await fixture.tenant.api.put(`/api/schedules/${id}`, { maxCostUsd: null });
    expect(changed.body.maxCostUsd).toBeNull();
  });

  it('a schedule’s concurrency keys, which must use known variables, apply to its runs', async () => {
    const keys = [{ key: 'claim:{{CLAIM_ID}}', limit: 2 }];
    const id = await fixture.createSchedule({ concurrencyKeys: keys });
    expect((await fixture.readSchedule(id)).concurrencyKeys).toEqual(keys);
    await fixture.tenant.api.post('/api/schedules/execute', { scheduleId: id, force: true });
    expect((await fixture.tenant.api.get('/api/concurrency-keys?q=claim')).body.concurrencyKeys).toMatchObject([
      { key: 'claim:C-1', limit: 2 },
    ]);
    const wrong = await fixture.tenant.api.put(`/api/schedules/${id}`, {
      concurrencyKeys: [{ key: '{{PORTAL_PASSWORD}}' }],
    });
    expect([wrong.status, wrong.body.errors[0].field]).toEqual([400, 'concurrencyKeys.0.key']);
    expect((await fixture.readSchedule(id)).concurrencyKeys).toEqual(keys);
    const none = await fixture.tenant.api.put(`/api/schedules/${id}`, { concurrencyKeys: [] });
    expect(none.body.concurrencyKeys).toEqual([]);
  });

  it('a schedule uses the organization’s time zone if none is specified', async () => {
    await fixture.updateSetting(`timezone = 'America/Chicago'`);
    expect(await fixture.readSchedule(await fixture.createSchedule({ cronExpression: '0 6 * * *' }))).toMatchObject({
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
  ])('a schedule with %j is refused with an error that names the field', async (change, field) => {
    const answer = await fixture.tenant.api.post('/api/schedules', fixture.buildBody(change));
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
    const id = await fixture.createSchedule();
    const changed = await fixture.tenant.api.put(`/api/schedules/${id}`, change);
    expect([changed.status, changed.body.errors[0].field]).toEqual([400, field]);
  });

  it('a schedule for a workflow or an agent of another organization is refused', async () => {
    const other = await fixture.harness.makeTenant();
    const foreign = {
      scriptId: (await makeWorkflow(fixture.harness.db, { organizationId: other.organizationId })).id,
      agentId: (await makeAgent(fixture.harness.db, { organizationId: other.organizationId })).id,
    };
    for (const [field, id] of Object.entries(foreign)) {
      expect((await fixture.tenant.api.post('/api/schedules', fixture.buildBody({ [field]: id }))).status).toBe(404);
      expect(
        (await fixture.tenant.api.put(`/api/schedules/${await fixture.createSchedule()}`, { [field]: id })).status,
      ).toBe(404);
    }
  });

  it('a change of a schedule sets only the specified fields, at the revision that If-Match names', async () => {
    const id = await fixture.createSchedule();
    const changed = await fixture.tenant.api
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
      (await fixture.tenant.api.with({ 'if-match': '"1"' }).put(`/api/schedules/${id}`, { name: 'Late' })).status,
    ).toBe(412);
    expect(
      (await fixture.tenant.api.put(`/api/schedules/${id}`, { concurrencyLimit: null })).body.concurrencyLimit,
    ).toBeNull();
    expect((await fixture.tenant.as.admin.get('/api/audit?action=schedule.update')).body.entries).toHaveLength(2);
  });

  it('a schedule’s next run stays when other fields change', async () => {
    const id = await fixture.createSchedule();
    fixture.clock.advance(3_600_000);
    expect((await fixture.tenant.api.put(`/api/schedules/${id}`, { name: 'x' })).body.nextRunAt).toBe(
      '2026-03-02T09:05:00.000Z',
    );
  });

  it('a schedule can be disabled after its workflow was archived, but not enabled again', async () => {
    const id = await fixture.createSchedule();
    await fixture.tenant.api.delete(`/api/workflows/${fixture.scriptId}`);
    expect((await fixture.tenant.api.put(`/api/schedules/${id}`, { name: 'x', enabled: false })).status).toBe(200);
    expect((await fixture.tenant.api.put(`/api/schedules/${id}`, { enabled: true })).status).toBe(404);
  });

  it('a schedule is disabled by DELETE, and deleted by DELETE with hard=true', async () => {
    const id = await fixture.createSchedule();
    expect((await fixture.tenant.api.delete(`/api/schedules/${id}`)).status).toBe(204);
    expect(await fixture.readSchedule(id)).toMatchObject({ enabled: false, nextRunAt: null });
    fixture.clock.advance(3_600_000);
    expect(await fixture.executeSchedules({ scheduleId: id })).toMatchObject({
      skipped: [{ scheduleId: id, reason: 'disabled' }],
    });
    expect((await fixture.tenant.api.put(`/api/schedules/${id}`, { enabled: true })).body.nextRunAt).toBe(
      '2026-03-02T10:05:00.000Z',
    );
    await fixture.executeSchedules({ scheduleId: id, force: true });
    expect((await fixture.tenant.api.delete(`/api/schedules/${id}?hard=perhaps`)).status).toBe(400);
    expect((await fixture.tenant.api.delete(`/api/schedules/${id}?hard=true`)).status).toBe(204);
    expect((await fixture.tenant.api.get(`/api/schedules/${id}`)).status).toBe(404);
    expect(await fixture.queryRows('SELECT FROM schedule_run WHERE schedule_id = $1', id)).toEqual([]);
    expect(await fixture.listJobs()).toHaveLength(1);
  });

  it('a viewer can read a schedule, but not change or execute it', async () => {
    const id = await fixture.createSchedule();
    const { viewer } = fixture.tenant.as;
    for (const answer of [
      await viewer.post('/api/schedules', fixture.buildBody()),
      await viewer.put(`/api/schedules/${id}`, { name: 'x' }),
      await viewer.delete(`/api/schedules/${id}`),
      await viewer.post('/api/schedules/execute', {}),
      await viewer.post('/api/schedules/execute', { dryRun: true }),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([403, 'permission_denied']);
    }
    expect((await viewer.get(`/api/schedules/${id}`)).status).toBe(200);
  });

  it('requests with the same Idempotency-Key create one schedule', async () => {
    const client = fixture.tenant.api.with({ 'idempotency-key': 'k1' });
    const [first, again] = [
      await client.post('/api/schedules', fixture.buildBody()),
      await client.post('/api/schedules', fixture.buildBody()),
    ];
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect((await client.post('/api/schedules', fixture.buildBody({ name: 'other' }))).status).toBe(422);
  });

  describe('preview', () => {
    it('the preview of a schedule shows its next runs, and how daylight saving time shifts them', async () => {
      const id = await fixture.createSchedule({ cronExpression: '30 2 * * *', timezone: 'America/New_York' });
      fixture.clock.set('2026-03-07T12:00:00.000Z');
      expect((await fixture.tenant.api.get(`/api/schedules/${id}/preview?count=2`)).body).toEqual({
        cronExpression: '30 2 * * *',
        timezone: 'America/New_York',
        runs: [
          { at: '2026-03-08T07:00:00.000Z', local: '2026-03-08T03:00:00-04:00', shift: 'gap' },
          { at: '2026-03-09T06:30:00.000Z', local: '2026-03-09T02:30:00-04:00', shift: null },
        ],
      });
      expect((await fixture.tenant.api.get(`/api/schedules/${id}/preview`)).body.runs).toHaveLength(10);
      expect((await fixture.tenant.api.get(`/api/schedules/${id}/preview?count=101`)).status).toBe(400);
    });

    it('a preview shows the runs of a cron expression that is not saved', async () => {
      const answer = await fixture.tenant.as.viewer.post('/api/schedules/preview', {
        cronExpression: '0 0 * * *',
        timezone: 'Asia/Kathmandu',
      });
      expect(answer.body.runs[0]).toEqual({
        at: '2026-03-02T18:15:00.000Z',
        local: '2026-03-03T00:00:00+05:45',
        shift: null,
      });
      const refused = await fixture.tenant.api.post('/api/schedules/preview', {
        cronExpression: '@daily',
        timezone: 'UTC',
      });
      expect([refused.status, refused.body.errors[0].field]).toEqual([400, 'cronExpression']);
    });
  });
});
