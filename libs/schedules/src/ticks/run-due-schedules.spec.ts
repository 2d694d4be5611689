import { AccessModule } from '@muster/access';
import type { MisfirePolicy } from '@muster/contracts';
import { DatabaseModule, acquireAdvisoryLock, ScheduleEntity, type Transaction } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import {
  runBehindLock,
  runBesideLock,
  FakeClock,
  type Harness,
  makeAgent,
  makeOrganization,
  makeWorkflow,
  startHarness,
} from '@muster/testing';
import { WallClock } from '../cron/cron-oracle.harness';
import { parseCron } from '../cron/cron-rule';
import { findNextRun } from '../cron/find-next-run';
import { purgeScheduleHistory } from './purge-history';
import { runDueSchedules } from './run-due-schedules';
import { scanDueSchedulesSql, getScanDueValues } from './scan-due-schedules';
import { Client } from 'pg';

jest.setTimeout(120_000);

describe('runDueSchedules', () => {
  const clock = new FakeClock('2026-03-07T12:00:04.000Z');
  let harness: Harness;
  let ground: { organizationId: string; workflowId: string; agentId: string };

  const makeScheduleParents = async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: newId(), status: 'online' });
    return { organizationId, workflowId, agentId };
  };

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [BaseConfig],
      modules: [DatabaseModule, AccessModule],
      clock,
    });
  });
  beforeEach(async () => {
    clock.set('2026-03-07T12:00:04.000Z');
    ground = await makeScheduleParents();
  });
  afterEach(() => querySql('DELETE FROM schedule'));
  afterAll(() => harness.close());

  const querySql = (sql: string, values: unknown[] = []) => harness.db.query<any>('system', sql, values);
  const makeSchedule = async (cronExpression: string, more: Partial<ScheduleEntity> = {}): Promise<string> => {
    const id = newId();
    const timezone = more.timezone ?? 'UTC';
    const nextRunAt = findNextRun(parseCron(cronExpression), timezone, clock.now())!.at;
    const row = { id, ...ground, name: cronExpression, cronExpression, timezone, nextRunAt, ...more };
    await harness.db.transaction('system', (tx) => tx.manager.insert(ScheduleEntity, row as never));
    return id;
  };
  const runDueNow = (whenScanned: 'wait' | 'leave' = 'wait') =>
    runDueSchedules(harness.db, { now: clock.now(), limit: 10_000, whenScanned });
  const readRecordedRuns = (id: string) =>
    querySql(
      `SELECT nominal_at AS at, outcome, reason, job_id IS NOT NULL AS job FROM schedule_run WHERE schedule_id = $1
       ORDER BY nominal_at`,
      [id],
    );

  it('a scheduled run is launched by the system actor, with the source schedule', async () => {
    const id = await makeSchedule('1 * * * *');
    clock.set('2026-03-07T12:01:04.000Z');
    const { launched } = await runDueNow();
    expect(launched).toMatchObject([{ scheduleId: id }]);
    expect(await querySql('SELECT schedule_id, status FROM job WHERE id = $1', [launched[0]!.jobId])).toEqual([
      { scheduleId: id, status: 'queued' },
    ]);
    expect(
      await querySql(`SELECT actor_kind, actor_id FROM audit_entry WHERE target_id = $1`, [launched[0]!.jobId]),
    ).toEqual([{ actorKind: 'system', actorId: 'schedules' }]);
    expect(
      await querySql(`SELECT source FROM timeline_entry WHERE job_id = $1 AND kind = 'job'`, [launched[0]!.jobId]),
    ).toEqual([{ source: 'schedule' }]);
    expect((await runDueNow()).scanned).toBe(0);
  });

  it.each([
    ['once', 1, 5],
    ['skip', 0, 6],
    ['all', 6, 0],
  ] as [MisfirePolicy, number, number][])(
    'a tick after an outage applies the misfire policy %s and records each time',
    async (misfirePolicy, launched, dropped) => {
      const id = await makeSchedule('0 * * * *', { misfirePolicy });
      clock.set('2026-03-07T18:30:00.000Z');
      await runDueNow();
      const rows = await readRecordedRuns(id);
      expect(rows).toHaveLength(6);
      expect(rows.filter((row) => row.outcome === 'launched' && row.job)).toHaveLength(launched);
      expect(rows.filter((row) => row.outcome === 'skipped' && row.reason === 'misfire')).toHaveLength(dropped);
      expect(await querySql('SELECT next_run_at AS next, last_result FROM schedule WHERE id = $1', [id])).toEqual([
        { next: new Date('2026-03-07T19:00:00.000Z'), lastResult: launched ? 'launched' : 'skipped' },
      ]);
      expect(await querySql('SELECT FROM job WHERE schedule_id = $1', [id])).toHaveLength(launched);
    },
  );

  it('a tick at the exact time of a run launches it after the runs that were missed', async () => {
    const id = await makeSchedule('0 * * * *', { misfirePolicy: 'all' });
    clock.set('2026-03-07T15:00:00.000Z');
    await runDueNow();
    expect((await readRecordedRuns(id)).map(({ at, outcome }) => [at.toISOString().slice(11, 16), outcome])).toEqual([
      ['13:00', 'launched'],
      ['14:00', 'launched'],
      ['15:00', 'launched'],
    ]);
  });

  it('the lateness of each scheduled time is measured, including missed ones', async () => {
    const readTickMetrics = async () => {
      const text = await harness.app.metrics.registry.metrics();
      const parseMetric = (name: string) =>
        Number(
          text
            .split('\n')
            .find((line) => line.startsWith(`${name} `))
            ?.split(' ')[1] ?? 0,
        );
      return [
        parseMetric('muster_schedule_lateness_seconds_bucket{le="5"}'),
        parseMetric('muster_schedule_lateness_seconds_count'),
      ];
    };
    const [early, all] = await readTickMetrics();
    await makeSchedule('* * * * *', { misfirePolicy: 'skip' });
    clock.set('2026-03-07T12:01:04.000Z');
    await runDueNow();
    expect(await readTickMetrics()).toEqual([early! + 1, all! + 1]);
    clock.set('2026-03-07T12:06:30.000Z');
    await runDueNow();
    expect(await readTickMetrics()).toEqual([early! + 1, all! + 6]);
  });

  it('the guards are checked for each missed run that a tick makes up for', async () => {
    const id = await makeSchedule('0 * * * *', { misfirePolicy: 'all', concurrencyLimit: 2 });
    clock.set('2026-03-07T18:00:30.000Z');
    await runDueNow();
    expect((await readRecordedRuns(id)).map(({ outcome, reason }) => reason ?? outcome)).toEqual([
      'launched',
      'launched',
      'concurrency_limit',
      'concurrency_limit',
      'concurrency_limit',
      'concurrency_limit',
    ]);
  });

  it('a schedule that is broken or locked does not prevent the other schedules from running', async () => {
    const unreadable = await makeSchedule('1 * * * *', { name: 'unreadable' });
    await querySql(`UPDATE schedule SET cron_expression = 'not cron' WHERE id = $1`, [unreadable]);
    const homeless = await makeSchedule('1 * * * *', { timezone: 'UTC' });
    await querySql(`UPDATE schedule SET timezone = 'Mars/Olympus' WHERE id = $1`, [homeless]);
    const archived = await makeSchedule('1 * * * *');
    await querySql(`UPDATE schedule SET workflow_id = $2 WHERE id = $1`, [
      archived,
      (await makeWorkflow(harness.db, ground)).id,
    ]);
    await querySql(
      'UPDATE workflow SET archived_at = now() WHERE id = (SELECT workflow_id FROM schedule WHERE id = $1)',
      [archived],
    );
    const locked = await makeSchedule('1 * * * *');
    const fine = await makeSchedule('1 * * * *');
    clock.set('2026-03-07T12:01:04.000Z');
    const { launched, skipped, failed, scanned } = await harness.db.transaction('system', async (tx) => {
      await tx.query('SELECT FROM schedule WHERE id = $1 FOR UPDATE', [locked]);
      return runDueNow();
    });
    expect(scanned).toBe(5);
    expect(launched).toMatchObject([{ scheduleId: fine }]);
    expect(skipped).toEqual([{ scheduleId: locked, reason: 'locked', nominalAt: null }]);
    expect(Object.fromEntries(failed.map(({ scheduleId, reason }) => [scheduleId, reason]))).toEqual({
      [unreadable]: 'internal_error',
      [homeless]: 'internal_error',
      [archived]: 'not_found',
    });
    for (const id of [unreadable, homeless, archived]) {
      expect(await readRecordedRuns(id)).toMatchObject([
        { outcome: 'failed', at: new Date('2026-03-07T12:01:00.000Z') },
      ]);
    }
    expect((await runDueNow()).launched).toMatchObject([{ scheduleId: locked }]);
    expect((await runDueNow()).scanned).toBe(0);
  });

  it('if another process is scanning the schedules, a tick skips the scan or waits for the process, as requested', async () => {
    await makeSchedule('1 * * * *');
    clock.set('2026-03-07T12:01:04.000Z');
    const lockScan = (tx: Transaction) => acquireAdvisoryLock(tx, 'schedules', 'scan');
    expect(await runBesideLock(harness.db, lockScan, () => runDueNow('leave'))).toMatchObject({ scanned: 0 });
    const [waited] = await runBehindLock(harness.db, lockScan, () => [runDueNow('wait')]);
    expect(waited!.launched).toHaveLength(1);
  });

  it('due schedules are found by an index, no matter how many schedules are not due', async () => {
    await makeSchedule('1 * * * *');
    await querySql(
      `INSERT INTO schedule (id, organization_id, name, workflow_id, agent_id, cron_expression, timezone, next_run_at)
       SELECT gen_random_uuid(), $1, n, $2, $3, '0 0 1 1 *', 'UTC', now() + n * interval '1 minute'
       FROM generate_series(1, 5000) AS n`,
      [ground.organizationId, ground.workflowId, ground.agentId],
    );
    const owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
    await owner.query('ANALYZE schedule');
    await owner.end();
    const plan = JSON.stringify(
      await querySql(`EXPLAIN (FORMAT JSON) ${scanDueSchedulesSql(false)}`, getScanDueValues(clock.now(), 100)),
    );
    expect(plan).toContain('schedule_due_idx');
    expect(plan).not.toContain('Sort');
  });

  it('twenty concurrent ticks launch each scheduled run once', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => makeSchedule('1 * * * *')));
    clock.set('2026-03-07T12:01:04.000Z');
    await Promise.all(Array.from({ length: 20 }, (_, n) => runDueNow(n % 2 ? 'wait' : 'leave')));
    const rows = await querySql(
      'SELECT schedule_id, count(*)::int AS n FROM job WHERE schedule_id = ANY($1) GROUP BY 1',
      [ids],
    );
    expect(rows.map(({ n }) => n)).toEqual(ids.map(() => 1));
  });

  it('a scheduled time never runs again, even if next_run_at is set back', async () => {
    const id = await makeSchedule('1 * * * *');
    clock.set('2026-03-07T12:01:04.000Z');
    await runDueNow();
    await querySql(`UPDATE schedule SET next_run_at = '2026-03-07T12:01:00Z' WHERE id = $1`, [id]);
    expect((await runDueNow()).launched).toEqual([]);
    expect(await readRecordedRuns(id)).toHaveLength(1);
  });

  it('schedules run at the right times over two nights with a clock change and an outage of hours', async () => {
    const zones = ['America/New_York', 'America/Havana', 'Asia/Kathmandu'];
    const expressions = [
      '30 2 * * *',
      '0 0 * * *',
      '*/30 1-3 * * *',
      '15 */2 * * *',
      '0 9 * * MON-FRI',
      '45 1,2,3 8 3 *',
    ];
    const policies = ['once', 'skip', 'all'] as const;
    clock.set('2026-03-07T20:00:04.000Z');
    const created: { id: string; zone: string; expression: string; policy: MisfirePolicy }[] = [];
    for (const zone of zones) {
      for (const [n, expression] of expressions.entries()) {
        const policy = policies[n % 3]!;
        created.push({
          zone,
          expression,
          policy,
          id: await makeSchedule(expression, { timezone: zone, misfirePolicy: policy }),
        });
      }
    }
    const [from, until] = [Date.parse('2026-03-07T20:00:00Z'), Date.parse('2026-03-09T14:00:00Z')];
    const outage = [Date.parse('2026-03-08T05:10:00Z'), Date.parse('2026-03-08T10:10:00Z')] as const;
    const ticks: number[] = [];
    for (let time = from + 64_000; time < until; time += 60_000) {
      if (time < outage[0] || time >= outage[1]) ticks.push(time);
    }
    for (const time of ticks) {
      clock.set(new Date(time));
      await runDueNow();
    }
    for (const { id, zone, expression, policy } of created) {
      const clockOfZone = new WallClock(zone, new Date(from - 86_400_000), new Date(until));
      const nominal = clockOfZone
        .listExpectedRuns(expression)
        .filter((time) => time > from + 4000 && time <= ticks.at(-1)!);
      const missed = nominal.filter((time) => ticks.find((each) => each >= time)! - time > 60_000);
      const dropped = policy === 'all' ? [] : policy === 'skip' ? missed : missed.slice(0, -1);
      const wanted = nominal.map((time) => [
        new Date(time).toISOString(),
        dropped.includes(time) ? 'misfire' : 'launched',
      ]);
      const found = (await readRecordedRuns(id)).map(({ at, outcome, reason }) => [
        at.toISOString(),
        reason ?? outcome,
      ]);
      expect({ zone, expression, policy, runs: found }).toEqual({ zone, expression, policy, runs: wanted });
    }
  });

  it('schedule history that is older than the retention is deleted', async () => {
    const id = await makeSchedule('1 * * * *');
    clock.set('2026-03-07T12:01:04.000Z');
    await runDueNow();
    clock.set('2026-03-09T12:01:04.000Z');
    await runDueNow();
    const purgeHistory = (keepDays: number) => purgeScheduleHistory(harness.db, { now: clock.now(), keepDays });
    expect(await purgeHistory(0)).toEqual({ purged: 0 });
    expect(await purgeHistory(2)).toEqual({ purged: 0 });
    expect(await purgeHistory(1)).toEqual({ purged: 1 });
    expect((await readRecordedRuns(id)).length).toBeGreaterThan(40);
  });
});
