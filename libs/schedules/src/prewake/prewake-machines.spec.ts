import { AccessModule } from '@muster/access';
import {
  decideIdleStop,
  explainAgent,
  findAgent,
  MachineControl,
  MachinesModule,
  recordHandshake,
  stopIdleAgents,
} from '@muster/machines';
import { DatabaseModule, ScheduleEntity, type Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { runBehindLock, runBesideLock, type Harness, startHarness } from '@muster/testing';
import { makeAgent, makeJob, makeOrganization, makeWorkflow } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { type MachineProvider, Machines, VmConfig } from '@muster/vm';
import { runDueSchedules } from '../ticks/run-due-schedules';
import { findExpectedRuns, findNextExpectedRun } from './find-expected-runs';
import { prewakeMachines } from './prewake-machines';

jest.setTimeout(120_000);

describe('prewakeMachines', () => {
  let harness: Harness;
  let ground: { organizationId: string; workflowId: string; agentId: string };

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, MachinesModule],
    });
    const doNothing = async () => undefined;
    const describeStoppedMachine = async () => ({ state: 'stopped' as const, ip: null });
    const provider: MachineProvider = {
      describe: describeStoppedMachine,
      start: doNothing,
      stop: doNothing,
      reboot: doNothing,
      terminate: doNothing,
    };
    jest.spyOn(harness.app.nest.get(Machines, { strict: false }), 'get').mockReturnValue(provider);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    await query('DELETE FROM schedule');
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    ground = { organizationId, workflowId, agentId: await makeMachine(organizationId) };
  });

  const query = (sql: string, values: unknown[] = []) => harness.db.query<any>('system', sql, values);
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);
  const makeMachine = async (organizationId: string, input: object = {}) => {
    const row = { name: newId(), status: 'stopped', provider: 'ec2', bootMs: 40_000, ...input } as const;
    return (await makeAgent(harness.db, { organizationId, ...row })).id;
  };
  const makeSchedule = async (nextRunAt: Date, more: Partial<ScheduleEntity> = {}) => {
    const id = newId();
    const row = { id, ...ground, name: 'Nightly', cronExpression: '0 * * * *', timezone: 'UTC', nextRunAt, ...more };
    await harness.db.transaction('system', (tx) => tx.manager.insert(ScheduleEntity, row as never));
    return id;
  };
  const runPrewake = (now = new Date()) => prewakeMachines(harness.db, { now: () => now, wakeTimeoutMs: 60_000 });
  const updateSettings = (set: string) =>
    query(`UPDATE organization_settings SET ${set} WHERE organization_id = $1`, [ground.organizationId]);
  const statusOf = async (id = ground.agentId) =>
    (await query('SELECT status FROM agent WHERE id = $1', [id]))[0].status;
  const listWakes = () =>
    query('SELECT source, reason, state FROM agent_wake WHERE agent_id = $1 ORDER BY requested_at', [ground.agentId]);
  const listLifecycleEvents = () =>
    query(`SELECT source, data FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle' ORDER BY seq`, [
      ground.agentId,
    ]);
  const sendHandshake = () => {
    const report = { agentId: ground.agentId, bootId: newId(), workerVersion: '1' };
    const recordReport = (tx: Transaction) => recordHandshake(tx, ground.organizationId, report, {}, async () => {});
    return harness.db.transaction('system', recordReport);
  };
  const failWakes = async () => {
    const [wake] = await query(
      `UPDATE agent_wake SET deadline = now() - make_interval(secs => 1), next_try_at = now() - make_interval(secs => 1) WHERE state = 'open' AND agent_id = $1 RETURNING id`,
      [ground.agentId],
    );
    await harness.app.nest.get(MachineControl).attemptWake(wake.id);
  };

  it('a machine is prewoken once for a run, ahead of it by the boot time, with a timeline entry', async () => {
    // The lead time is the boot of 40 s, a tenth of it, and a margin of 3 s.
    const far = await makeSchedule(inSeconds(50));
    expect(await runPrewake()).toEqual({ looked: 0, woken: 0 });
    const runAt = inSeconds(46);
    await query('UPDATE schedule SET next_run_at = $2 WHERE id = $1', [far, runAt]);
    expect(await runPrewake()).toEqual({ looked: 1, woken: 1 });
    expect(await statusOf()).toBe('starting');
    expect(await listWakes()).toEqual([{ source: 'schedule', reason: 'prewake', state: 'open' }]);
    expect(await listLifecycleEvents()).toEqual([
      {
        source: 'schedule',
        data: {
          eventType: 'wake_requested',
          reason: 'prewake',
          previousStatus: 'stopped',
          currentStatus: 'starting',
          scheduleId: far,
          runAt: runAt.toISOString(),
        },
      },
    ]);
    expect(await query(`SELECT FROM outbox WHERE name = 'wake-agent'`)).toHaveLength(1);
    const audited = `SELECT actor_id FROM audit_entry WHERE target_id = $1 AND action = 'agent.start'`;
    expect(await query(audited, [ground.agentId])).toEqual([{ actorId: 'schedule' }]);
    expect((await runPrewake()).woken).toBe(0);
  });

  it('a machine that was never woken is assumed to boot in a minute, and later boots are measured', async () => {
    await query('UPDATE agent SET boot_ms = NULL WHERE id = $1', [ground.agentId]);
    await makeSchedule(inSeconds(71));
    expect((await runPrewake()).woken).toBe(0);
    expect((await runPrewake(inSeconds(3))).woken).toBe(1);
    await query(`UPDATE agent_wake SET attempt = 1, requested_at = muster_now() - interval '12 seconds'`);
    await sendHandshake();
    const [{ bootMs }] = await query('SELECT boot_ms FROM agent WHERE id = $1', [ground.agentId]);
    expect(bootMs).toBeGreaterThanOrEqual(12_000);
    expect(bootMs).toBeLessThan(60_000);
  });

  it('a slow machine is prewoken earlier, with a wake timeout that is extended to its boot time', async () => {
    await query('UPDATE agent SET boot_ms = 300000 WHERE id = $1', [ground.agentId]);
    await makeSchedule(inSeconds(330));
    expect((await runPrewake()).woken).toBe(1);
    const waited =
      'SELECT extract(epoch FROM deadline - requested_at)::int AS seconds FROM agent_wake WHERE agent_id = $1';
    // The lead time (boot, a tenth and 3 s) times 1.5. A fast machine gets the ordinary wake timeout.
    expect(await query(waited, [ground.agentId])).toEqual([{ seconds: 500 }]);
    const fast = await makeMachine(ground.organizationId, { bootMs: 10_000 });
    await makeSchedule(inSeconds(10), { agentId: fast });
    await runPrewake();
    expect(await query(waited, [fast])).toEqual([{ seconds: 60 }]);
  });

  it('a machine is prewoken once, even if several of its schedules have the same time', async () => {
    const others = await Promise.all(Array.from({ length: 30 }, () => makeMachine(ground.organizationId)));
    const runAt = inSeconds(30);
    for (const agentId of [ground.agentId, ground.agentId, ground.agentId, ...others])
      await makeSchedule(runAt, { agentId });
    const ticks = await Promise.all(Array.from({ length: 4 }, () => runPrewake()));
    expect(ticks.reduce((sum, { woken }) => sum + woken, 0)).toBe(31);
    const woken = await query(`SELECT FROM agent_wake WHERE reason = 'prewake' AND organization_id = $1`, [
      ground.organizationId,
    ]);
    expect(woken).toHaveLength(31);
    for (const id of [ground.agentId, ...others]) expect(await statusOf(id)).toBe('starting');
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    ['prewake is turned off', () => updateSettings('prewake = false')],
    ['the schedule is disabled', (id) => query('UPDATE schedule SET enabled = false WHERE id = $1', [id])],
    ['auto-wake is off', () => updateSettings('vm_auto_wake_on_job = false')],
    ['the monthly run limit is used up', () => updateSettings('monthly_run_limit = 0')],
    [
      'the organization is suspended',
      () => query('UPDATE organization SET suspended = true WHERE id = $1', [ground.organizationId]),
    ],
    ['a secret is missing', (id) => query(`UPDATE schedule SET vault_keys = '{PORTAL_PASSWORD}' WHERE id = $1`, [id])],
    [
      'the schedule has reached its concurrency limit',
      async (id) => {
        await query('UPDATE schedule SET concurrency_limit = 1 WHERE id = $1', [id]);
        await makeJob(harness.db, { ...ground, scheduleId: id });
      },
    ],
    [
      'the last run is within the idempotency window',
      async (id) => {
        await query('UPDATE schedule SET idempotency_window_minutes = 10 WHERE id = $1', [id]);
        await query(
          `INSERT INTO schedule_run (schedule_id, organization_id, nominal_at, kind, fired_at, outcome)
           VALUES ($1, $2, now() - interval '5 minutes', 'tick', now() - interval '5 minutes', 'launched')`,
          [id, ground.organizationId],
        );
      },
    ],
    ['the agent is drained', () => query(`UPDATE agent SET drain = 'finish' WHERE id = $1`, [ground.agentId])],
    ['the agent is terminated', () => query(`UPDATE agent SET status = 'terminated' WHERE id = $1`, [ground.agentId])],
    ['the machine is external', () => query(`UPDATE agent SET provider = 'external' WHERE id = $1`, [ground.agentId])],
  ])('a machine is not prewoken if %s', async (_, forbid) => {
    const id = await makeSchedule(inSeconds(30));
    await forbid(id);
    const before = await statusOf();
    expect((await runPrewake()).woken).toBe(0);
    expect([await listWakes(), await statusOf()]).toEqual([[], before]);
    expect(await query('SELECT prewoken_for FROM schedule WHERE id = $1', [id])).toEqual([{ prewokenFor: null }]);
  });

  it('a machine is prewoken if the idempotency window allows the run at its time, though not yet at the wake', async () => {
    const id = await makeSchedule(inSeconds(30), { idempotencyWindowMinutes: 10 });
    await query(
      `INSERT INTO schedule_run (schedule_id, organization_id, nominal_at, kind, fired_at, outcome)
       VALUES ($1, $2, now() - interval '9.9 minutes', 'tick', now() - interval '9.9 minutes', 'launched')`,
      [id, ground.organizationId],
    );
    expect((await runPrewake()).woken).toBe(1);
  });

  it('a failed prewake is not repeated for the same scheduled time, only for the next one', async () => {
    const id = await makeSchedule(inSeconds(40));
    await makeSchedule(inSeconds(41));
    await runPrewake();
    await failWakes();
    expect((await listWakes()).map(({ state }) => state)).toEqual(['timeout']);
    for (const seconds of [1, 20, 38]) expect((await runPrewake(inSeconds(seconds))).woken).toBe(0);
    await query('UPDATE schedule SET next_run_at = $2 WHERE id = $1', [id, inSeconds(640)]);
    expect((await runPrewake(inSeconds(600))).woken).toBe(1);
  });

  it('a failed prewake is not repeated for another schedule of the machine once the pause after it has ended', async () => {
    await query('UPDATE agent SET boot_ms = 400000 WHERE id = $1', [ground.agentId]);
    for (const seconds of [400, 401]) await makeSchedule(inSeconds(seconds));
    expect((await runPrewake()).woken).toBe(1);
    await failWakes();
    expect([await statusOf(), (await runPrewake(inSeconds(390))).woken]).toEqual(['stopped', 0]);
  });

  it('a machine is not prewoken during the pause after a failed wake', async () => {
    await makeSchedule(inSeconds(3600));
    await query('UPDATE schedule SET next_run_at = $1', [inSeconds(10)]);
    await runPrewake();
    await failWakes();
    await makeSchedule(inSeconds(30), { name: 'Another' });
    expect((await runPrewake()).woken).toBe(0);
  });

  it('a machine is prewoken late if no tick ran in time', async () => {
    await makeSchedule(inSeconds(2));
    expect((await runPrewake()).woken).toBe(1);
  });

  it('a schedule whose run is being launched is not prewoken', async () => {
    const id = await makeSchedule(inSeconds(30));
    const advance = 'UPDATE schedule SET next_run_at = $2 WHERE id = $1';
    const round = await runBesideLock(harness.db, (tx) => tx.execute(advance, [id, inSeconds(3600)]), runPrewake);
    expect(round.woken).toBe(0);
  });

  it('a machine is not prewoken if it is drained while the prewake waits for its agent', async () => {
    await makeSchedule(inSeconds(30));
    const rounds = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [ground.agentId]),
      () => [runPrewake()],
      (tx) => tx.execute(`UPDATE agent SET drain = 'finish' WHERE id = $1`, [ground.agentId]),
    );
    expect(rounds).toMatchObject([{ woken: 0 }]);
  });

  it('a stopping machine gets one request to wake ahead of its run, but an online machine gets none', async () => {
    await makeSchedule(inSeconds(30));
    await query(`UPDATE agent SET status = 'online' WHERE id = $1`, [ground.agentId]);
    expect((await runPrewake()).woken).toBe(0);
    await query(`UPDATE agent SET status = 'stopping' WHERE id = $1`, [ground.agentId]);
    expect((await runPrewake()).woken).toBe(1);
    expect([await statusOf(), (await listWakes()).length]).toEqual(['stopping', 1]);
  });

  it('a machine that was started ahead of a run stays on until this run, even if the idle limit is shorter', async () => {
    await updateSettings('idle_stop_minutes = 0.05');
    const id = await makeSchedule(inSeconds(40));
    await runPrewake();
    await sendHandshake();
    const stopIdleAgentsAt = (now: Date) => stopIdleAgents(harness.db, { now, findExpectedRun: findNextExpectedRun });
    for (const seconds of [5, 20, 39]) await stopIdleAgentsAt(inSeconds(seconds));
    expect(await statusOf()).toBe('online');
    await query(`UPDATE schedule SET cron_expression = '0 0 1 1 *', next_run_at = $2 WHERE id = $1`, [
      id,
      inSeconds(86_400),
    ]);
    expect((await stopIdleAgentsAt(inSeconds(41))).stopping).toBe(1);
  });

  it('a prewoken machine may be stopped if its run is not launched', async () => {
    await updateSettings('idle_stop_minutes = 0.05');
    await makeSchedule(inSeconds(40));
    await runPrewake();
    await sendHandshake();
    const stopIdleAgentsAfter = (seconds: number) =>
      stopIdleAgents(harness.db, { now: inSeconds(seconds), findExpectedRun: findNextExpectedRun });
    expect((await stopIdleAgentsAfter(95)).stopping).toBe(0);
    expect((await stopIdleAgentsAfter(105)).stopping).toBe(1);
  });

  it('a run is launched at its scheduled time on its prewoken machine', async () => {
    const runAt = new Date(Math.ceil(Date.now() / 60_000) * 60_000);
    const id = await makeSchedule(runAt, { cronExpression: '* * * * *' });
    await runPrewake(new Date(runAt.getTime() - 40_000));
    await sendHandshake();
    const { launched } = await runDueSchedules(harness.db, { now: runAt, limit: 10, whenScanned: 'wait' });
    expect(launched).toMatchObject([{ scheduleId: id, nominalAt: runAt }]);
    expect([await statusOf(), (await listWakes()).length]).toEqual(['online', 1]);
  });

  it('findExpectedRuns returns the next run of each agent that no guard will skip', async () => {
    const at = inSeconds(600);
    await makeSchedule(inSeconds(300), { name: 'Without its secret', vaultKeys: ['NONE'] });
    await makeSchedule(inSeconds(400), { name: 'Disabled', enabled: false });
    await makeSchedule(at, { name: 'Nightly claims' });
    const other = await makeMachine(ground.organizationId);
    const foreign = await makeOrganization(harness.db);
    const readExpectedRuns = (organizationId: string) =>
      findExpectedRuns(harness.db, organizationId, { agentIds: [ground.agentId, other], now: new Date() });
    const found = await readExpectedRuns(ground.organizationId);
    expect([...found.values()]).toEqual([{ agentId: ground.agentId, at, name: 'Nightly claims' }]);
    expect((await readExpectedRuns(foreign.id)).size).toBe(0);
    const agent = await findAgent(harness.db, ground.organizationId, ground.agentId);
    const { why } = explainAgent(agent, found.get(ground.agentId)!, new Date());
    expect(why).toContain(`Next it expects the run of Nightly claims at ${at.toISOString()}, and is woken for it at`);
    expect(decideIdleStop({ ...agent, expected: found.get(ground.agentId)! }, new Date()).action).toBe('stay');
  });

  it('findExpectedRuns finds the next run after any number of skipped ones, also for several agents', async () => {
    const others = await Promise.all(Array.from({ length: 3 }, () => makeMachine(ground.organizationId)));
    for (const agentId of [ground.agentId, others[0]!])
      for (let at = 0; at < 23; at += 1) await makeSchedule(inSeconds(60 + at), { agentId, vaultKeys: ['NONE'] });
    const at = inSeconds(600);
    await makeSchedule(at, { name: 'Nightly claims' });
    await makeSchedule(at, { name: 'Another', agentId: others[1] });
    const agentIds = [ground.agentId, ...others];
    const found = await findExpectedRuns(harness.db, ground.organizationId, { agentIds, now: new Date() });
    expect([...found.values()].map(({ agentId, name }) => [agentId, name]).sort()).toEqual(
      [
        [ground.agentId, 'Nightly claims'],
        [others[1], 'Another'],
      ].sort(),
    );
    const next = await harness.db.transaction('system', (tx) => findNextExpectedRun(tx, ground.agentId, new Date()));
    expect(next).toEqual({ agentId: ground.agentId, at, name: 'Nightly claims' });
  });

  it('a prewake round reads only schedules whose time is near, no matter how many there are', async () => {
    await query(
      `INSERT INTO schedule (id, organization_id, name, workflow_id, agent_id, cron_expression, timezone, next_run_at)
       SELECT gen_random_uuid(), $1, n, $2, $3, '0 0 1 1 *', 'UTC', now() + (n + 20) * interval '1 minute'
       FROM generate_series(1, 5000) AS n`,
      [ground.organizationId, ground.workflowId, ground.agentId],
    );
    expect(await runPrewake()).toEqual({ looked: 0, woken: 0 });
  });
});
