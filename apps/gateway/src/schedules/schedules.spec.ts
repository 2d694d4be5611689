import { FakeClock, type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('schedules', () => {
  const clock = new FakeClock('2026-03-02T09:00:20.000Z');
  let harness: Harness;
  let tenant: Tenant;
  let scriptId: string;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, clock });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    clock.set('2026-03-02T09:00:20.000Z');
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    scriptId = (await makeWorkflow(harness.db, { organizationId, variables: ['CLAIM_ID'] })).id;
    agentId = (await makeAgent(harness.db, { organizationId, status: 'online' })).id;
  });

  const body = (more: object = {}) => ({
    name: 'Nightly',
    scriptId,
    agentId,
    cronExpression: '*/5 * * * *',
    variables: { CLAIM_ID: 'C-1' },
    ...more,
  });
  const make = async (more: object = {}): Promise<string> => {
    const made = await tenant.api.post('/api/schedules', body(more));
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    return made.body.id;
  };
  const read = async (id: string) => (await tenant.api.get(`/api/schedules/${id}`)).body;
  const execute = async (more: object = {}) => {
    const answer = await tenant.api.post('/api/schedules/execute', more);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    return answer.body;
  };
  const jobs = async () => (await tenant.api.get('/api/jobs')).body.jobs;
  const rows = (sql: string, ...values: unknown[]) => harness.db.query<any>('system', sql, values);
  const setting = (change: string) =>
    rows(`UPDATE organization_settings SET ${change} WHERE organization_id = $1`, tenant.organizationId);

  it('is made with every default, and says when it runs next', async () => {
    const made = await tenant.as.member.post('/api/schedules', body());
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`/api/schedules/${made.body.id}`);
    expect(made.headers.get('etag')).toBe('"1"');
    expect(made.body).toEqual({
      id: expect.any(String),
      name: 'Nightly',
      scriptId,
      agentId,
      cronExpression: '*/5 * * * *',
      timezone: 'UTC',
      enabled: true,
      variables: { CLAIM_ID: 'C-1' },
      vaultKeys: [],
      maxRuntimeMinutes: 720,
      maxRetries: 0,
      retryDelaySeconds: 0,
      concurrencyLimit: null,
      idempotencyWindowMinutes: null,
      misfirePolicy: 'once',
      nextRunAt: '2026-03-02T09:05:00.000Z',
      lastRunAt: null,
      lastRunJobId: null,
      lastResult: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(await read(made.body.id)).toEqual({ ...made.body, recentRuns: [] });
    expect((await tenant.as.viewer.get('/api/schedules')).body).toEqual({ schedules: [made.body], nextCursor: null });
    expect((await tenant.as.admin.get('/api/audit?action=schedule.create')).body.entries).toHaveLength(1);
  });

  it('takes the organization’s timezone where none is given', async () => {
    await setting(`timezone = 'America/Chicago'`);
    expect(await read(await make({ cronExpression: '0 6 * * *' }))).toMatchObject({
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
  ])('refuses %j, naming the field', async (change, field) => {
    const answer = await tenant.api.post('/api/schedules', body(change));
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
    const id = await make();
    const changed = await tenant.api.put(`/api/schedules/${id}`, change);
    expect([changed.status, changed.body.errors[0].field]).toEqual([400, field]);
  });

  it('refuses a workflow or an agent of another organization', async () => {
    const other = await harness.makeTenant();
    const foreign = {
      scriptId: (await makeWorkflow(harness.db, { organizationId: other.organizationId })).id,
      agentId: (await makeAgent(harness.db, { organizationId: other.organizationId })).id,
    };
    for (const [field, id] of Object.entries(foreign)) {
      expect((await tenant.api.post('/api/schedules', body({ [field]: id }))).status).toBe(404);
      expect((await tenant.api.put(`/api/schedules/${await make()}`, { [field]: id })).status).toBe(404);
    }
  });

  it('changes what is given, and knows whose change came first', async () => {
    const id = await make();
    const changed = await tenant.api
      .with({ 'if-match': '"1"' })
      .put(`/api/schedules/${id}`, { name: 'Weekly', cronExpression: '0 6 * * MON', concurrencyLimit: 2 });
    expect(changed.body).toMatchObject({
      name: 'Weekly',
      nextRunAt: '2026-03-09T06:00:00.000Z',
      concurrencyLimit: 2,
      variables: { CLAIM_ID: 'C-1' },
    });
    expect(changed.headers.get('etag')).toBe('"2"');
    expect((await tenant.api.with({ 'if-match': '"1"' }).put(`/api/schedules/${id}`, { name: 'Late' })).status).toBe(
      412,
    );
    expect((await tenant.api.put(`/api/schedules/${id}`, { concurrencyLimit: null })).body.concurrencyLimit).toBeNull();
    expect((await tenant.as.admin.get('/api/audit?action=schedule.update')).body.entries).toHaveLength(2);
  });

  it('keeps its place in time when something else of it changes', async () => {
    const id = await make();
    clock.advance(3_600_000);
    expect((await tenant.api.put(`/api/schedules/${id}`, { name: 'x' })).body.nextRunAt).toBe(
      '2026-03-02T09:05:00.000Z',
    );
  });

  it('is disabled by DELETE, and gone with hard=true', async () => {
    const id = await make();
    expect((await tenant.api.delete(`/api/schedules/${id}`)).status).toBe(204);
    expect(await read(id)).toMatchObject({ enabled: false, nextRunAt: null });
    clock.advance(3_600_000);
    expect(await execute({ scheduleId: id })).toMatchObject({ skipped: [{ scheduleId: id, reason: 'disabled' }] });
    expect((await tenant.api.put(`/api/schedules/${id}`, { enabled: true })).body.nextRunAt).toBe(
      '2026-03-02T10:05:00.000Z',
    );
    await execute({ scheduleId: id, force: true });
    expect((await tenant.api.delete(`/api/schedules/${id}?hard=perhaps`)).status).toBe(400);
    expect((await tenant.api.delete(`/api/schedules/${id}?hard=true`)).status).toBe(204);
    expect((await tenant.api.get(`/api/schedules/${id}`)).status).toBe(404);
    expect(await rows('SELECT FROM schedule_run WHERE schedule_id = $1', id)).toEqual([]);
    expect(await jobs()).toHaveLength(1);
  });

  it('is only looked at by a viewer', async () => {
    const id = await make();
    const { viewer } = tenant.as;
    for (const answer of [
      await viewer.post('/api/schedules', body()),
      await viewer.put(`/api/schedules/${id}`, { name: 'x' }),
      await viewer.delete(`/api/schedules/${id}`),
      await viewer.post('/api/schedules/execute', {}),
      await viewer.post('/api/schedules/execute', { dryRun: true }),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([403, 'permission_denied']);
    }
    expect((await viewer.get(`/api/schedules/${id}`)).status).toBe(200);
  });

  it('is made once for one Idempotency-Key', async () => {
    const client = tenant.api.with({ 'idempotency-key': 'k1' });
    const [first, again] = [await client.post('/api/schedules', body()), await client.post('/api/schedules', body())];
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect((await client.post('/api/schedules', body({ name: 'other' }))).status).toBe(422);
  });

  describe('preview', () => {
    it('shows the next runs with what daylight saving does to them', async () => {
      const id = await make({ cronExpression: '30 2 * * *', timezone: 'America/New_York' });
      clock.set('2026-03-07T12:00:00.000Z');
      expect((await tenant.api.get(`/api/schedules/${id}/preview?count=2`)).body).toEqual({
        cronExpression: '30 2 * * *',
        timezone: 'America/New_York',
        runs: [
          { at: '2026-03-08T07:00:00.000Z', local: '2026-03-08T03:00:00-04:00', shift: 'gap' },
          { at: '2026-03-09T06:30:00.000Z', local: '2026-03-09T02:30:00-04:00', shift: null },
        ],
      });
      expect((await tenant.api.get(`/api/schedules/${id}/preview`)).body.runs).toHaveLength(10);
      expect((await tenant.api.get(`/api/schedules/${id}/preview?count=101`)).status).toBe(400);
    });

    it('shows those of an expression that is not saved', async () => {
      const answer = await tenant.as.viewer.post('/api/schedules/preview', {
        cronExpression: '0 0 * * *',
        timezone: 'Asia/Kathmandu',
      });
      expect(answer.body.runs[0]).toEqual({
        at: '2026-03-02T18:15:00.000Z',
        local: '2026-03-03T00:00:00+05:45',
        shift: null,
      });
      const refused = await tenant.api.post('/api/schedules/preview', { cronExpression: '@daily', timezone: 'UTC' });
      expect([refused.status, refused.body.errors[0].field]).toEqual([400, 'cronExpression']);
    });
  });

  describe('execute', () => {
    it('answers what it did, and the job carries what the schedule says', async () => {
      const id = await make({
        vaultKeys: [],
        maxRuntimeMinutes: 30,
        maxRetries: 2,
        retryDelaySeconds: 90,
        concurrencyLimit: 1,
      });
      expect(await execute()).toEqual({ dryRun: false, scanned: 0, launched: [], skipped: [], failed: [] });
      clock.set('2026-03-02T09:05:10.000Z');
      const answer = await execute();
      expect(answer).toEqual({
        dryRun: false,
        scanned: 1,
        launched: [{ scheduleId: id, jobId: expect.any(String), nominalAt: '2026-03-02T09:05:00.000Z' }],
        skipped: [],
        failed: [],
      });
      const { jobId } = answer.launched[0];
      expect((await tenant.api.get(`/api/jobs/${jobId}`)).body).toMatchObject({
        scheduleId: id,
        workflowId: scriptId,
        agentId,
        variables: { CLAIM_ID: 'C-1' },
        maxRetries: 2,
        retryDelayMs: 90_000,
        maxRuntimeMs: 1_800_000,
      });
      expect(await read(id)).toMatchObject({
        nextRunAt: '2026-03-02T09:10:00.000Z',
        lastRunAt: '2026-03-02T09:05:10.000Z',
        lastRunJobId: jobId,
        lastResult: 'launched',
        recentRuns: [
          {
            nominalAt: '2026-03-02T09:05:00.000Z',
            firedAt: '2026-03-02T09:05:10.000Z',
            outcome: 'launched',
            reason: null,
            detail: null,
            forced: false,
            jobId,
          },
        ],
      });
      expect(await execute()).toMatchObject({ scanned: 0 });
      clock.set('2026-03-02T09:10:10.000Z');
      expect(await execute()).toMatchObject({ scanned: 1, launched: [], skipped: [{ reason: 'concurrency_limit' }] });
      expect((await read(id)).recentRuns).toMatchObject([
        { outcome: 'skipped', reason: 'concurrency_limit', jobId: null },
        { outcome: 'launched' },
      ]);
      expect(await read(id)).toMatchObject({ lastResult: 'skipped', lastRunJobId: jobId });
    });

    it('touches nothing in a dry run', async () => {
      const id = await make();
      clock.set('2026-03-02T09:07:30.000Z');
      const state = async () => [
        await rows('SELECT * FROM schedule WHERE id = $1', id),
        await rows('SELECT count(*) FROM schedule_run'),
        await rows('SELECT count(*) FROM job'),
        await rows('SELECT count(*) FROM audit_entry'),
        await rows('SELECT count(*) FROM outbox'),
      ];
      const before = await state();
      const launched = [{ scheduleId: id, jobId: null, nominalAt: '2026-03-02T09:05:00.000Z' }];
      expect(await execute({ dryRun: true })).toMatchObject({ dryRun: true, scanned: 1, launched });
      expect(await execute({ dryRun: true, scheduleId: id })).toMatchObject({ launched });
      expect(await execute({ dryRun: true, force: true, scheduleId: id })).toMatchObject({
        dryRun: true,
        launched: [{ scheduleId: id, jobId: null }],
      });
      expect(await state()).toEqual(before);
    });

    it('runs one by force, once each time, and leaves its timetable alone', async () => {
      const id = await make();
      const forced = await execute({ force: true, scheduleId: id });
      expect(forced).toMatchObject({ scanned: 1, launched: [{ scheduleId: id }], skipped: [] });
      await execute({ force: true, scheduleId: id });
      expect(await jobs()).toHaveLength(2);
      const { nextRunAt, recentRuns } = await read(id);
      expect(nextRunAt).toBe('2026-03-02T09:05:00.000Z');
      expect(recentRuns).toMatchObject([{ forced: true }, { forced: true }]);
      const keyed = tenant.api.with({ 'idempotency-key': 'force-1' });
      await keyed.post('/api/schedules/execute', { force: true, scheduleId: id });
      const again = await keyed.post('/api/schedules/execute', { force: true, scheduleId: id });
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect(await jobs()).toHaveLength(3);
    });

    it('forces nothing without a schedule, and no more than its limits let it', async () => {
      const answer = await tenant.api.post('/api/schedules/execute', { force: true });
      expect([answer.status, answer.body.errors[0].field]).toEqual([400, 'scheduleId']);
      expect((await tenant.api.post('/api/schedules/execute', { force: true, scheduleId: null })).status).toBe(400);
      for (const limit of [0, 101, 1.5, '5']) {
        expect((await tenant.api.post('/api/schedules/execute', { limit })).status).toBe(400);
      }
      const other = await harness.makeTenant();
      const id = await make();
      for (const more of [{ force: true }, {}, { dryRun: true }, { dryRun: true, force: true }]) {
        expect((await other.api.post('/api/schedules/execute', { scheduleId: id, ...more })).status).toBe(404);
      }
    });

    it('says of one schedule that it is not due, or disabled; force runs it all the same', async () => {
      const id = await make();
      expect(await execute({ scheduleId: id })).toMatchObject({ scanned: 1, skipped: [{ reason: 'not_due' }] });
      await tenant.api.put(`/api/schedules/${id}`, { enabled: false });
      expect(await execute({ scheduleId: id })).toMatchObject({ skipped: [{ reason: 'disabled' }] });
      expect(await execute({ scheduleId: id, force: true })).toMatchObject({ launched: [{ scheduleId: id }] });
    });

    it('looks at as many due schedules as its limit says, the longest due first', async () => {
      const first = await make({ cronExpression: '1 * * * *' });
      await make({ cronExpression: '2 * * * *' });
      clock.set('2026-03-02T09:03:10.000Z');
      expect(await execute({ limit: 1 })).toMatchObject({ scanned: 1, skipped: [], launched: [{ scheduleId: first }] });
      expect(await execute({ limit: 100 })).toMatchObject({ scanned: 1 });
    });

    it('skips within the idempotency window, forced or not', async () => {
      const id = await make({ idempotencyWindowMinutes: 10 });
      await execute({ force: true, scheduleId: id });
      expect(await execute({ force: true, scheduleId: id })).toMatchObject({
        skipped: [{ reason: 'idempotency_window' }],
      });
      clock.set('2026-03-02T09:05:10.000Z');
      expect(await execute()).toMatchObject({ skipped: [{ reason: 'idempotency_window' }] });
      clock.set('2026-03-02T09:10:30.000Z');
      expect(await execute()).toMatchObject({ launched: [{ scheduleId: id }] });
    });

    it('skips at a closed billing gate, and with a secret missing', async () => {
      const id = await make({ vaultKeys: ['PORTAL'] });
      expect(await execute({ force: true, scheduleId: id })).toMatchObject({ skipped: [{ reason: 'secret_missing' }] });
      await tenant.as.admin.put('/api/vault/PORTAL', { value: 'hunter2' });
      await setting('monthly_run_limit = 0');
      expect(await execute({ force: true, scheduleId: id })).toMatchObject({ skipped: [{ reason: 'billing_gate' }] });
      await setting('monthly_run_limit = NULL');
      expect(await execute({ force: true, scheduleId: id })).toMatchObject({ launched: [{ scheduleId: id }] });
      expect(JSON.stringify(await rows('SELECT * FROM schedule, job'))).not.toContain('hunter2');
      expect((await read(id)).recentRuns.map(({ reason }: any) => reason)).toEqual([
        null,
        'billing_gate',
        'secret_missing',
      ]);
    });

    it('lets a sleeping agent be woken, unless auto-wake is off; force wakes it then too', async () => {
      const asleep = (
        await makeAgent(harness.db, {
          organizationId: tenant.organizationId,
          name: 'Asleep',
          provider: 'local',
          status: 'stopped',
        })
      ).id;
      const id = await make({ agentId: asleep });
      await setting('vm_auto_wake_on_job = false');
      clock.set('2026-03-02T09:05:10.000Z');
      expect(await execute()).toMatchObject({ skipped: [{ reason: 'agent_not_ready' }] });
      const events = () =>
        rows(
          `SELECT data->>'eventType' AS type, source FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle'
           ORDER BY seq`,
          asleep,
        );
      expect(await events()).toEqual([{ type: 'wake_blocked', source: 'schedule' }]);
      expect(await execute({ scheduleId: id, force: true })).toMatchObject({ launched: [{ scheduleId: id }] });
      expect((await events()).map(({ type }: any) => type)).toEqual(['wake_blocked', 'wake_requested']);
      await rows(`UPDATE agent SET status = 'stopped' WHERE id = $1`, asleep);
      await setting('vm_auto_wake_on_job = true');
      clock.set('2026-03-02T09:10:10.000Z');
      expect(await execute()).toMatchObject({ launched: [{ scheduleId: id }] });
      const gone = await make();
      await rows(`UPDATE agent SET status = 'offline', provider = 'external' WHERE id = $1`, agentId);
      expect(await execute({ scheduleId: gone, force: true })).toMatchObject({
        skipped: [{ reason: 'agent_not_ready' }],
      });
    });

    it('writes down as failed what the launch refuses, and goes on', async () => {
      const bad = await make();
      const good = await make({ name: 'good' });
      await rows(`UPDATE workflow_revision SET variables = '{CLAIM_ID,MORE}' WHERE workflow_id = $1`, scriptId);
      const own = (await makeWorkflow(harness.db, { organizationId: tenant.organizationId })).id;
      await tenant.api.put(`/api/schedules/${good}`, { scriptId: own, variables: {} });
      clock.set('2026-03-02T09:05:10.000Z');
      expect(await execute()).toMatchObject({
        scanned: 2,
        launched: [{ scheduleId: good }],
        failed: [{ scheduleId: bad, reason: 'invalid_payload', detail: expect.stringContaining('MORE') }],
      });
      expect(await read(bad)).toMatchObject({
        lastResult: 'failed',
        nextRunAt: '2026-03-02T09:10:00.000Z',
        recentRuns: [{ outcome: 'failed', reason: 'invalid_payload' }],
      });
    });
  });

  it('forgets its last job when that is deleted', async () => {
    const id = await make();
    const { launched } = await execute({ force: true, scheduleId: id });
    const { jobId } = launched[0];
    await tenant.api.post(`/api/jobs/${jobId}/cancel`, {});
    expect((await tenant.as.member.delete(`/api/jobs/${jobId}`)).status).toBe(204);
    expect(await read(id)).toMatchObject({
      lastRunJobId: null,
      lastRunAt: expect.any(String),
      recentRuns: [{ outcome: 'launched', jobId: null }],
    });
  });
});
