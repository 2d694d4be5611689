import { AccessModule, type Principal } from '@muster/access';
import { DatabaseModule, ScheduleEntity, type Transaction } from '@muster/database';
import { launchJob } from '@muster/jobs';
import { MachineControl, MachinesModule, recordHandshake, stopIdleAgents } from '@muster/machines';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, makeWorkflow, runBesideLock, startHarness } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { type MachineProvider, Machines, VmConfig } from '@muster/vm';
import { runDueSchedules } from '../ticks/run-due-schedules';
import { runScheduleNow } from '../ticks/run-schedule-now';
import { findNextExpectedRun } from './find-expected-runs';
import { prewakeMachines } from './prewake-machines';

describe('wakes for schedules whose runs require labels', () => {
  let harness: Harness;
  let ground: { organizationId: string; workflowId: string };

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, MachinesModule],
    });
    const provider: MachineProvider = {
      describe: async () => ({ state: 'stopped', ip: null }),
      start: async () => undefined,
      stop: async () => undefined,
      reboot: async () => undefined,
      terminate: async () => undefined,
    };
    jest.spyOn(harness.app.nest.get(Machines, { strict: false }), 'get').mockReturnValue(provider);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    await querySql('DELETE FROM schedule');
    const { id: organizationId } = await makeOrganization(harness.db);
    ground = { organizationId, workflowId: (await makeWorkflow(harness.db, { organizationId })).id };
  });

  const querySql = (sql: string, values: unknown[] = []) => harness.db.query<any>('system', sql, values);
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);
  const makeMachine = async (input: object = {}) => {
    const row = { ...{ name: newId(), status: 'stopped', provider: 'ec2', bootMs: 40_000 }, labels: ['front-desk'] };
    return (await makeAgent(harness.db, { organizationId: ground.organizationId, ...row, ...input } as never)).id;
  };
  const makeSchedule = async (nextRunAt: Date, more: Partial<ScheduleEntity> = {}) => {
    const id = newId();
    const times = { cronExpression: '0 * * * *', timezone: 'UTC', nextRunAt };
    const target = more.agentId ? {} : { targetLabels: ['front-desk'], targetPrefer: 'running' as const };
    const row = { id, ...ground, name: 'Nightly', ...times, ...target, ...more };
    await harness.db.transaction('system', (tx) => tx.manager.insert(ScheduleEntity, row as never));
    return id;
  };
  const prewakeAndCountWakes = async (now = new Date()) =>
    (await prewakeMachines(harness.db, { now: () => now, wakeTimeoutMs: 60_000 })).woken;
  const listWokenAgents = async () =>
    (
      await querySql('SELECT agent_id FROM agent_wake WHERE organization_id = $1 ORDER BY requested_at, id', [
        ground.organizationId,
      ])
    ).map(({ agentId }) => agentId);
  const updateSettings = (set: string) =>
    querySql(`UPDATE organization_settings SET ${set} WHERE organization_id = $1`, [ground.organizationId]);
  const updateAgent = (set: string, id: string) => querySql(`UPDATE agent SET ${set} WHERE id = $1`, [id]);
  const readPrewokenFor = async (id: string) =>
    (await querySql('SELECT prewoken_for FROM schedule WHERE id = $1', [id]))[0].prewokenFor;
  const runInTransaction = <T>(work: (tx: Transaction) => Promise<T>) =>
    harness.db.transaction({ organizationId: ground.organizationId }, work);
  const createCaller = (): Principal => ({
    ...{ kind: 'api_key', id: 'testkey01', scope: 'api', agentId: null, role: 'member' },
    ...{ organizationId: ground.organizationId, organizationName: 'Organization', organizationSuspended: false },
  });
  const launchRun = (body: object) =>
    runInTransaction((tx) => launchJob(tx, createCaller(), { workflowId: ground.workflowId, ...body }, new Date()));
  const target = { labels: ['front-desk'] };

  it('one machine is woken ahead of each due scheduled run that no idle machine takes: those that boot fastest', async () => {
    await makeMachine({ bootMs: 58_000 });
    const slow = await makeMachine({ bootMs: 50_000 });
    const fast = await makeMachine({ bootMs: 30_000 });
    await makeMachine({ bootMs: 20_000, labels: ['north'] });
    await makeMachine({ status: 'online' });
    const runAt = inSeconds(30);
    const ids = [await makeSchedule(runAt), await makeSchedule(runAt), await makeSchedule(runAt)];
    expect(await prewakeAndCountWakes()).toBe(2);
    // The schedules are handled at the same time, so either machine may be woken first.
    expect(new Set(await listWokenAgents())).toEqual(new Set([fast, slow]));
    const marked = (await Promise.all(ids.map(readPrewokenFor))).filter((at) => at !== null);
    expect(marked).toEqual([runAt, runAt]);
    const wakes = 'SELECT source, reason, state FROM agent_wake WHERE agent_id = $1';
    expect(await querySql(wakes, [fast])).toEqual([{ source: 'schedule', reason: 'prewake', state: 'open' }]);
    const [entry] = await querySql(
      `SELECT source, data FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle'`,
      [fast],
    );
    expect(entry).toMatchObject({ source: 'schedule', data: { reason: 'prewake', runAt: runAt.toISOString() } });
    expect(ids).toContain(entry.data.scheduleId);
    expect(await prewakeAndCountWakes()).toBe(0);
  });

  it('no machine is woken for a scheduled run while an idle one can take it; if that one becomes busy, another is woken', async () => {
    const asleep = await makeMachine();
    const idle = await makeMachine({ status: 'online' });
    const id = await makeSchedule(inSeconds(30));
    expect([await prewakeAndCountWakes(), await readPrewokenFor(id)]).toEqual([0, null]);
    await updateAgent(`current_job_id = '${newId()}'`, idle);
    expect([await prewakeAndCountWakes(), await listWokenAgents()]).toEqual([1, [asleep]]);
  });

  it('an idle machine is not counted for a scheduled run if a waiting job, or a run that names it, will take it', async () => {
    const asleep = await makeMachine();
    const idle = await makeMachine({ status: 'online' });
    const runAt = inSeconds(30);
    await makeSchedule(runAt);
    await makeSchedule(runAt, { agentId: idle });
    expect([await prewakeAndCountWakes(), await listWokenAgents()]).toEqual([1, [asleep]]);
    await querySql('DELETE FROM schedule');
    const another = await makeMachine();
    await makeSchedule(inSeconds(30));
    await launchRun({ target });
    await launchRun({ target });
    expect([await prewakeAndCountWakes(), await listWokenAgents()]).toEqual([1, [asleep, another]]);
  });

  it('a machine that a schedule names is woken for that schedule, and another machine for a schedule with a target', async () => {
    const own = await makeMachine({ bootMs: 20_000 });
    const other = await makeMachine({ bootMs: 40_000 });
    const runAt = inSeconds(20);
    await makeSchedule(runAt, { agentId: own });
    await makeSchedule(runAt);
    expect([await prewakeAndCountWakes(), await listWokenAgents()]).toEqual([2, [own, other]]);
  });

  it('a machine is woken ahead of a scheduled run by the machine’s own measured boot time', async () => {
    await makeMachine({ bootMs: 40_000 });
    const slow = await makeMachine({ bootMs: 300_000, labels: ['front-desk', 'north'] });
    const id = await makeSchedule(inSeconds(60));
    expect([await prewakeAndCountWakes(), await readPrewokenFor(id)]).toEqual([0, null]);
    await makeSchedule(inSeconds(320), { targetLabels: ['north'] });
    expect([await prewakeAndCountWakes(), await listWokenAgents()]).toEqual([1, [slow]]);
    expect(await prewakeAndCountWakes(inSeconds(20))).toBe(1);
  });

  it.each<[string, (facts: { id: string; agentId: string }) => Promise<unknown>]>([
    ['prewake is turned off', () => updateSettings('prewake = false')],
    ['auto-wake is off', () => updateSettings('vm_auto_wake_on_job = false')],
    ['the organization’s runs have no room', () => updateSettings('max_concurrent_runs = 0')],
    ['the monthly run limit is used up', () => updateSettings('monthly_run_limit = 0')],
    ['the schedule is disabled', ({ id }) => querySql('UPDATE schedule SET enabled = false WHERE id = $1', [id])],
    ['a secret is missing', ({ id }) => querySql(`UPDATE schedule SET vault_keys = '{NONE}' WHERE id = $1`, [id])],
    ['the machine has no such label', ({ agentId }) => updateAgent(`labels = '{Front-Desk}'`, agentId)],
    ['the machine takes only runs that name it', ({ agentId }) => updateAgent('placement = false', agentId)],
    ['the machine is drained', ({ agentId }) => updateAgent(`drain = 'finish'`, agentId)],
    ['the machine is external', ({ agentId }) => updateAgent(`provider = 'external'`, agentId)],
    ['the machine is terminated', ({ agentId }) => updateAgent(`status = 'terminated'`, agentId)],
  ])('no machine is woken ahead of a scheduled run if %s', async (_, forbid) => {
    const agentId = await makeMachine();
    const id = await makeSchedule(inSeconds(30));
    await forbid({ id, agentId });
    expect([await prewakeAndCountWakes(), await listWokenAgents(), await readPrewokenFor(id)]).toEqual([0, [], null]);
  });

  it('concurrent prewake rounds wake one machine for each run, and a schedule that is being launched wakes none', async () => {
    const agentIds = await Promise.all(Array.from({ length: 8 }, () => makeMachine()));
    for (let run = 0; run < 5; run += 1) await makeSchedule(inSeconds(30));
    const rounds = await Promise.all(Array.from({ length: 4 }, () => prewakeAndCountWakes()));
    expect(rounds.reduce((sum, count) => sum + count)).toBe(5);
    expect(new Set(await listWokenAgents()).size).toBe(5);
    expect(agentIds).toEqual(expect.arrayContaining(await listWokenAgents()));
    const id = await makeSchedule(inSeconds(30));
    const advance = 'UPDATE schedule SET next_run_at = $2 WHERE id = $1';
    expect(
      await runBesideLock(
        harness.db,
        (tx) => tx.execute(advance, [id, inSeconds(3600)]),
        () => prewakeAndCountWakes(),
      ),
    ).toBe(0);
  });

  it('a failed prewake is not repeated for the same scheduled time', async () => {
    const first = await makeMachine({ bootMs: 30_000 });
    await makeMachine({ bootMs: 40_000 });
    await makeSchedule(inSeconds(30));
    await prewakeAndCountWakes();
    await querySql(
      `UPDATE agent_wake SET deadline = muster_now() - interval '1 s', next_try_at = muster_now() WHERE agent_id = $1`,
      [first],
    );
    const [{ id }] = await querySql('SELECT id FROM agent_wake WHERE agent_id = $1', [first]);
    await harness.app.nest.get(MachineControl).attemptWake(id);
    expect((await querySql('SELECT state FROM agent_wake WHERE id = $1', [id]))[0].state).toBe('timeout');
    expect([await prewakeAndCountWakes(), await listWokenAgents()]).toEqual([0, [first]]);
  });

  it('a prewoken machine stays on until the run, and is stopped as usual once the run is on another one', async () => {
    await updateSettings('idle_stop_minutes = 0.05');
    const [agentId, other] = [await makeMachine({ bootMs: 30_000 }), await makeMachine({ bootMs: 35_000 })];
    const runAt = inSeconds(30);
    const id = await makeSchedule(runAt);
    await prewakeAndCountWakes();
    const sendHandshake = (agent: string) =>
      harness.db.transaction('system', (tx) =>
        recordHandshake(
          tx,
          ground.organizationId,
          { agentId: agent, bootId: newId(), workerVersion: '1' },
          {},
          async () => {},
        ),
      );
    await sendHandshake(agentId);
    await sendHandshake(other);
    const readExpectedRun = (agent: string) =>
      harness.db.transaction('system', (tx) => findNextExpectedRun(tx, agent, new Date()));
    expect(await readExpectedRun(agentId)).toEqual({ agentId, at: runAt, name: 'Nightly' });
    expect(await readExpectedRun(other)).toBeNull();
    const statusOf = async (agent: string) =>
      (await querySql('SELECT status FROM agent WHERE id = $1', [agent]))[0].status;
    const stopIdleAgentsAfter = (seconds: number) =>
      stopIdleAgents(harness.db, { now: inSeconds(seconds), findExpectedRun: findNextExpectedRun });
    await stopIdleAgentsAfter(20);
    expect([await statusOf(agentId), await statusOf(other)]).toEqual(['online', 'stopping']);
    await querySql('UPDATE schedule SET next_run_at = $2 WHERE id = $1', [id, inSeconds(3600)]);
    expect(await readExpectedRun(agentId)).toBeNull();
    await stopIdleAgentsAfter(20);
    expect(await statusOf(agentId)).toBe('stopping');
  });

  it('a schedule whose labels no agent has any more skips its run with no_agent_fits', async () => {
    const agentId = await makeMachine({ status: 'online' });
    const runAt = new Date(Math.floor(Date.now() / 60_000) * 60_000);
    const id = await makeSchedule(runAt, { cronExpression: '* * * * *' });
    await updateAgent(`labels = '{north}'`, agentId);
    const { launched, skipped } = await runDueSchedules(harness.db, { now: runAt, limit: 10, whenScanned: 'wait' });
    expect([launched, skipped]).toEqual([[], [expect.objectContaining({ scheduleId: id, reason: 'no_agent_fits' })]]);
    const history = 'SELECT outcome, reason, job_id FROM schedule_run WHERE schedule_id = $1';
    expect(await querySql(history, [id])).toEqual([{ outcome: 'skipped', reason: 'no_agent_fits', jobId: null }]);
  });

  describe('a run that a user requests', () => {
    const runNow = (id: string) =>
      runInTransaction((tx) => runScheduleNow(tx, createCaller(), id, { now: new Date(), wakeTimeoutMs: 60_000 }));
    beforeEach(() => updateSettings('vm_auto_wake_on_job = false'));

    it('a requested run of a schedule wakes a fitting machine even if auto-wake is off, unless an idle one will take it', async () => {
      const [asleep] = [await makeMachine({ bootMs: 30_000 }), await makeMachine()];
      const id = await makeSchedule(inSeconds(3600), { enabled: false, name: 'Nightly' });
      expect((await runNow(id)).launched).toHaveLength(1);
      expect(await listWokenAgents()).toEqual([asleep]);
      const wakes = 'SELECT source, reason FROM agent_wake WHERE agent_id = $1';
      expect(await querySql(wakes, [asleep])).toEqual([
        { source: 'schedule', reason: 'a run of Nightly was requested' },
      ]);
      await makeMachine({ status: 'online' });
      expect((await runNow(id)).launched).toHaveLength(1);
      expect(await listWokenAgents()).toEqual([asleep]);
    });

    it('a requested run of a schedule wakes no machine while the run waits for a concurrency key', async () => {
      await makeMachine();
      const concurrencyKeys = [{ key: 'delta' }];
      const holder = await launchRun({ agentId: await makeMachine({ status: 'online', labels: [] }), concurrencyKeys });
      await querySql('UPDATE concurrency_lease SET since = muster_now() WHERE job_id = $1', [holder.jobId]);
      const id = await makeSchedule(inSeconds(3600), { concurrencyKeys });
      expect((await runNow(id)).launched).toHaveLength(1);
      expect(await listWokenAgents()).toEqual([]);
    });

    it('a requested run of a schedule is skipped with no_agent_fits if no agent has its labels any more', async () => {
      const id = await makeSchedule(inSeconds(3600));
      const { launched, skipped } = await runNow(id);
      expect([launched, skipped]).toEqual([[], [expect.objectContaining({ reason: 'no_agent_fits' })]]);
    });
  });
});
