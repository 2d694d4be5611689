import {
  cloneDatabase,
  FakeClock,
  type Harness,
  makeAgent,
  makeOrganization,
  makeWorkflow,
  openPool,
  startHarness,
  waitFor,
} from '@muster/testing';
import { newId } from '@muster/platform';
import { schedulerConfigs } from './scheduler-configs';
import { SchedulerModule } from './scheduler.module';

const path = '/api/cron/scheduled-runs';

async function startScheduler(env: Record<string, string>, clock: FakeClock): Promise<Harness> {
  return startHarness({ name: 'scheduler', configs: schedulerConfigs, modules: [SchedulerModule], clock, env });
}

async function makeSchedule({ db }: Harness): Promise<string> {
  const { id: organizationId } = await makeOrganization(db);
  const { id: workflowId } = await makeWorkflow(db, { organizationId });
  const { id: agentId } = await makeAgent(db, { organizationId, status: 'online' });
  const id = newId();
  await db.query(
    'system',
    `INSERT INTO schedule (id, organization_id, name, workflow_id, agent_id, cron_expression, timezone, next_run_at)
     VALUES ($1, $2, 's', $3, $4, '*/5 * * * *', 'UTC', '2026-03-02T09:05:00Z')`,
    [id, organizationId, workflowId, agentId],
  );
  return id;
}

describe('the cron endpoint', () => {
  it('the cron endpoint rejects every request while no secret is set', async () => {
    const harness = await startScheduler({}, new FakeClock());
    try {
      for (const headers of [{}, { 'x-cron-key': '' }, { 'x-cron-key': 'undefined' }, { authorization: 'Bearer ' }]) {
        for (const method of ['GET', 'POST']) {
          const answer = await harness.http.with(headers as Record<string, string>).send(method, path);
          expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated']);
        }
      }
    } finally {
      await harness.close();
    }
  });

  it('one request to the cron endpoint executes as many schedules as are due', async () => {
    const harness = await startScheduler(
      { CRON_SECRET: 'open sesame', SCHEDULE_TICK_MS: '3600000' },
      new FakeClock('2026-03-02T09:05:10.000Z'),
    );
    try {
      const id = await makeSchedule(harness);
      await harness.db.query(
        'system',
        `INSERT INTO schedule (id, organization_id, name, workflow_id, agent_id, cron_expression, timezone, next_run_at)
         SELECT gen_random_uuid(), organization_id, 's' || n, workflow_id, agent_id, cron_expression, timezone, next_run_at
         FROM schedule, generate_series(1, 59) n WHERE id = $1`,
        [id],
      );
      const { body } = await harness.http.with({ 'x-cron-key': 'open sesame' }).post(path);
      expect([body.scanned, body.launched.length, body.failed]).toEqual([60, 60, []]);
    } finally {
      await harness.close();
    }
  });

  it('the cron endpoint executes the due schedules of all organizations with GET and POST', async () => {
    const clock = new FakeClock('2026-03-02T09:05:10.000Z');
    const harness = await startScheduler({ CRON_SECRET: 'open sesame', SCHEDULE_TICK_MS: '3600000' }, clock);
    try {
      const ids = [await makeSchedule(harness), await makeSchedule(harness)];
      const first = await harness.http.with({ 'x-cron-key': 'open sesame' }).get(path);
      expect(first.status).toBe(200);
      expect(first.body).toEqual({
        dryRun: false,
        scanned: 2,
        launched: expect.arrayContaining(
          ids.map((scheduleId) => ({
            scheduleId,
            jobId: expect.any(String),
            nominalAt: '2026-03-02T09:05:00.000Z',
          })),
        ),
        skipped: [],
        failed: [],
      });
      clock.set('2026-03-02T09:10:10.000Z');
      const second = await harness.http.with({ authorization: 'bearer open sesame' }).send('POST', path);
      expect([second.status, second.body.launched.length]).toEqual([200, 2]);
      expect((await harness.http.with({ 'x-cron-key': 'open sesame' }).get(path)).body.scanned).toBe(0);
    } finally {
      await harness.close();
    }
  });

  it('the cron endpoint answers conflict until a restored database is released', async () => {
    const database = await cloneDatabase();
    const pool = openPool(database, 1);
    await pool.query("INSERT INTO recovery_hold (backup, saved_at, restored_at) VALUES ('b', now(), now())");
    const clock = new FakeClock('2026-03-02T09:05:10.000Z');
    const env = { CRON_SECRET: 'open sesame', SCHEDULE_TICK_MS: '50' };
    const harness = await startHarness({
      ...{ name: 'scheduler', configs: schedulerConfigs, modules: [SchedulerModule], clock, env, database },
    });
    try {
      const id = await makeSchedule(harness);
      const held = await harness.http.with({ 'x-cron-key': 'open sesame' }).get(path);
      expect([held.status, held.body.code]).toEqual([409, 'conflict']);
      expect(held.body.detail).toMatch(/muster-admin release/);
      expect(await pool.query('SELECT FROM loop_run')).toMatchObject({ rows: [] });
      await pool.query("UPDATE recovery_hold SET released_at = '2026-03-02T09:05:11Z'");
      clock.set('2026-03-02T09:06:00.000Z');
      const runs = 'SELECT outcome, reason FROM schedule_run WHERE schedule_id = $1';
      const { rows } = await waitFor('the outcome', async () => {
        const found = await pool.query(runs, [id]);
        return found.rows.length > 0 && found;
      });
      expect(rows).toEqual([{ outcome: 'skipped', reason: 'misfire' }]);
    } finally {
      await pool.end();
      await harness.close();
    }
  });

  it('due schedules run without a request to the cron endpoint, because the scheduler also checks for them itself', async () => {
    const harness = await startScheduler({ SCHEDULE_TICK_MS: '50' }, new FakeClock('2026-03-02T09:05:10.000Z'));
    try {
      const id = await makeSchedule(harness);
      await waitFor('the run', async () => {
        const rows = await harness.db.query('system', 'SELECT FROM job WHERE schedule_id = $1', [id]);
        return rows.length === 1;
      });
    } finally {
      await harness.close();
    }
  });
});
