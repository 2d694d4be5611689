import { makeAgent, makeWorkflow } from '@muster/testing';
import { SchedulesLab } from './schedules.harness';

describe('executing schedules', () => {
  const lab = new SchedulesLab();

  beforeAll(() => lab.open());
  afterAll(() => lab.harness.close());
  beforeEach(() => lab.begin());

  it('launches due schedules, reports the outcomes, and gives the job the schedule’s options', async () => {
    const id = await lab.make({
      vaultKeys: [],
      maxRuntimeMinutes: 30,
      maxRetries: 2,
      retryDelaySeconds: 90,
      concurrencyLimit: 1,
    });
    expect(await lab.execute()).toEqual({ dryRun: false, scanned: 0, launched: [], skipped: [], failed: [] });
    lab.clock.set('2026-03-02T09:05:10.000Z');
    const answer = await lab.execute();
    expect(answer).toEqual({
      dryRun: false,
      scanned: 1,
      launched: [{ scheduleId: id, jobId: expect.any(String), nominalAt: '2026-03-02T09:05:00.000Z' }],
      skipped: [],
      failed: [],
    });
    const { jobId } = answer.launched[0];
    expect((await lab.tenant.api.get(`/api/jobs/${jobId}`)).body).toMatchObject({
      scheduleId: id,
      workflowId: lab.scriptId,
      agentId: lab.agentId,
      variables: { CLAIM_ID: 'C-1' },
      maxRetries: 2,
      retryDelayMs: 90_000,
      maxRuntimeMs: 1_800_000,
    });
    expect(await lab.read(id)).toMatchObject({
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
    expect(await lab.execute()).toMatchObject({ scanned: 0 });
    lab.clock.set('2026-03-02T09:10:10.000Z');
    expect(await lab.execute()).toMatchObject({ scanned: 1, launched: [], skipped: [{ reason: 'concurrency_limit' }] });
    expect((await lab.read(id)).recentRuns).toMatchObject([
      { outcome: 'skipped', reason: 'concurrency_limit', jobId: null },
      { outcome: 'launched' },
    ]);
    expect(await lab.read(id)).toMatchObject({ lastResult: 'skipped', lastRunJobId: jobId });
  });

  it('changes nothing in a dry run', async () => {
    const id = await lab.make();
    lab.clock.set('2026-03-02T09:07:30.000Z');
    const state = async () => [
      await lab.rows('SELECT * FROM schedule WHERE id = $1', id),
      await lab.rows('SELECT count(*) FROM schedule_run'),
      await lab.rows('SELECT count(*) FROM job'),
      await lab.rows('SELECT count(*) FROM audit_entry'),
      await lab.rows('SELECT count(*) FROM outbox'),
    ];
    const before = await state();
    const launched = [{ scheduleId: id, jobId: null, nominalAt: '2026-03-02T09:05:00.000Z' }];
    expect(await lab.execute({ dryRun: true })).toMatchObject({ dryRun: true, scanned: 1, launched });
    expect(await lab.execute({ dryRun: true, scheduleId: id })).toMatchObject({ launched });
    expect(await lab.execute({ dryRun: true, force: true, scheduleId: id })).toMatchObject({
      dryRun: true,
      launched: [{ scheduleId: id, jobId: null }],
    });
    expect(await state()).toEqual(before);
  });

  it('launches a forced schedule each time, and keeps its timetable', async () => {
    const id = await lab.make();
    const forced = await lab.execute({ force: true, scheduleId: id });
    expect(forced).toMatchObject({ scanned: 1, launched: [{ scheduleId: id }], skipped: [] });
    await lab.execute({ force: true, scheduleId: id });
    expect(await lab.jobs()).toHaveLength(2);
    const { nextRunAt, recentRuns } = await lab.read(id);
    expect(nextRunAt).toBe('2026-03-02T09:05:00.000Z');
    expect(recentRuns).toMatchObject([{ forced: true }, { forced: true }]);
    const keyed = lab.tenant.api.with({ 'idempotency-key': 'force-1' });
    await keyed.post('/api/schedules/execute', { force: true, scheduleId: id });
    const again = await keyed.post('/api/schedules/execute', { force: true, scheduleId: id });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await lab.jobs()).toHaveLength(3);
  });

  it('refuses force without a schedule, invalid limits, and schedules of other organizations', async () => {
    const answer = await lab.tenant.api.post('/api/schedules/execute', { force: true });
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, 'scheduleId']);
    expect((await lab.tenant.api.post('/api/schedules/execute', { force: true, scheduleId: null })).status).toBe(400);
    for (const limit of [0, 101, 1.5, '5']) {
      expect((await lab.tenant.api.post('/api/schedules/execute', { limit })).status).toBe(400);
    }
    const other = await lab.harness.makeTenant();
    const id = await lab.make();
    for (const more of [{ force: true }, {}, { dryRun: true }, { dryRun: true, force: true }]) {
      expect((await other.api.post('/api/schedules/execute', { scheduleId: id, ...more })).status).toBe(404);
    }
  });

  it('skips a schedule that is not due or disabled, unless forced', async () => {
    const id = await lab.make();
    expect(await lab.execute({ scheduleId: id })).toMatchObject({ scanned: 1, skipped: [{ reason: 'not_due' }] });
    await lab.tenant.api.put(`/api/schedules/${id}`, { enabled: false });
    expect(await lab.execute({ scheduleId: id })).toMatchObject({ skipped: [{ reason: 'disabled' }] });
    expect(await lab.execute({ scheduleId: id, force: true })).toMatchObject({ launched: [{ scheduleId: id }] });
  });

  it('processes no more due schedules than its limit, the longest due first', async () => {
    const first = await lab.make({ cronExpression: '1 * * * *' });
    await lab.make({ cronExpression: '2 * * * *' });
    lab.clock.set('2026-03-02T09:03:10.000Z');
    expect(await lab.execute({ limit: 1 })).toMatchObject({
      scanned: 1,
      skipped: [],
      launched: [{ scheduleId: first }],
    });
    expect(await lab.execute({ limit: 100 })).toMatchObject({ scanned: 1 });
  });

  it('skips within the idempotency window, forced or not', async () => {
    const id = await lab.make({ idempotencyWindowMinutes: 10 });
    await lab.execute({ force: true, scheduleId: id });
    expect(await lab.execute({ force: true, scheduleId: id })).toMatchObject({
      skipped: [{ reason: 'idempotency_window' }],
    });
    lab.clock.set('2026-03-02T09:05:10.000Z');
    expect(await lab.execute()).toMatchObject({ skipped: [{ reason: 'idempotency_window' }] });
    lab.clock.set('2026-03-02T09:10:30.000Z');
    expect(await lab.execute()).toMatchObject({ launched: [{ scheduleId: id }] });
  });

  it('skips a schedule if the billing gate is closed or a secret is missing', async () => {
    await lab.tenant.as.admin.put('/api/vault/PORTAL', { value: 'hunter2' });
    const id = await lab.make({ vaultKeys: ['PORTAL'] });
    await lab.tenant.as.admin.delete('/api/vault/PORTAL');
    expect(await lab.execute({ force: true, scheduleId: id })).toMatchObject({
      skipped: [{ reason: 'secret_missing' }],
    });
    await lab.tenant.as.admin.put('/api/vault/PORTAL', { value: 'hunter2' });
    await lab.setting('monthly_run_limit = 0');
    expect(await lab.execute({ force: true, scheduleId: id })).toMatchObject({ skipped: [{ reason: 'billing_gate' }] });
    await lab.setting('monthly_run_limit = NULL');
    expect(await lab.execute({ force: true, scheduleId: id })).toMatchObject({ launched: [{ scheduleId: id }] });
    expect(JSON.stringify(await lab.rows('SELECT * FROM schedule, job'))).not.toContain('hunter2');
    expect((await lab.read(id)).recentRuns.map(({ reason }: any) => reason)).toEqual([
      null,
      'billing_gate',
      'secret_missing',
    ]);
  });

  it('wakes a stopped agent unless auto-wake is off; force wakes it anyway', async () => {
    const asleep = (
      await makeAgent(lab.harness.db, {
        organizationId: lab.tenant.organizationId,
        name: 'Asleep',
        provider: 'local',
        status: 'stopped',
      })
    ).id;
    const id = await lab.make({ agentId: asleep });
    await lab.setting('vm_auto_wake_on_job = false');
    lab.clock.set('2026-03-02T09:05:10.000Z');
    expect(await lab.execute()).toMatchObject({ skipped: [{ reason: 'agent_not_ready' }] });
    const events = () =>
      lab.rows(
        `SELECT data->>'eventType' AS type, source FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle'
         ORDER BY seq`,
        asleep,
      );
    expect(await events()).toEqual([{ type: 'wake_blocked', source: 'schedule' }]);
    expect(await lab.execute({ scheduleId: id, force: true })).toMatchObject({ launched: [{ scheduleId: id }] });
    expect((await events()).map(({ type }: any) => type)).toEqual(['wake_blocked', 'wake_requested']);
    await lab.rows(`UPDATE agent SET status = 'stopped' WHERE id = $1`, asleep);
    await lab.setting('vm_auto_wake_on_job = true');
    lab.clock.set('2026-03-02T09:10:10.000Z');
    expect(await lab.execute()).toMatchObject({ launched: [{ scheduleId: id }] });
    const gone = await lab.make();
    await lab.rows(`UPDATE agent SET status = 'offline', provider = 'external' WHERE id = $1`, lab.agentId);
    expect(await lab.execute({ scheduleId: gone, force: true })).toMatchObject({
      skipped: [{ reason: 'agent_not_ready' }],
    });
  });

  it('records a refused launch as failed, and continues with the next schedule', async () => {
    const bad = await lab.make();
    const good = await lab.make({ name: 'good' });
    await lab.rows(`UPDATE workflow_revision SET variables = '{CLAIM_ID,MORE}' WHERE workflow_id = $1`, lab.scriptId);
    const own = (await makeWorkflow(lab.harness.db, { organizationId: lab.tenant.organizationId })).id;
    await lab.tenant.api.put(`/api/schedules/${good}`, { scriptId: own, variables: {} });
    lab.clock.set('2026-03-02T09:05:10.000Z');
    expect(await lab.execute()).toMatchObject({
      scanned: 2,
      launched: [{ scheduleId: good }],
      failed: [{ scheduleId: bad, reason: 'invalid_payload', detail: expect.stringContaining('MORE') }],
    });
    expect(await lab.read(bad)).toMatchObject({
      lastResult: 'failed',
      nextRunAt: '2026-03-02T09:10:00.000Z',
      recentRuns: [{ outcome: 'failed', reason: 'invalid_payload' }],
    });
  });

  it('clears a schedule’s last job when that job is deleted', async () => {
    const id = await lab.make();
    const { launched } = await lab.execute({ force: true, scheduleId: id });
    const { jobId } = launched[0];
    await lab.tenant.api.post(`/api/jobs/${jobId}/cancel`, {});
    expect((await lab.tenant.as.member.delete(`/api/jobs/${jobId}`)).status).toBe(204);
    expect(await lab.read(id)).toMatchObject({
      lastRunJobId: null,
      lastRunAt: expect.any(String),
      recentRuns: [{ outcome: 'launched', jobId: null }],
    });
  });
});
