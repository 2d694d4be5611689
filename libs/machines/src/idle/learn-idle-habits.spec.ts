import { AccessModule } from '@muster/access';
import { divideRoundingHalfEven } from '@muster/contracts';
import { type Database, DatabaseModule } from '@muster/database';
import { newId, Round } from '@muster/platform';
import { StorageConfig } from '@muster/storage';
import {
  runBesideLock,
  type Harness,
  makeAgent,
  makeJob,
  makeOrganization,
  makeWorkflow,
  startHarness,
} from '@muster/testing';
import { VaultModule } from '@muster/vault';
import { type MachineProvider, Machines, VmConfig } from '@muster/vm';
import { stopIdleAgents } from './stop-idle-agents';
import { MachineControl } from '../orders/machine-control';
import { MachinesModule } from '../orders/machines.module';
import { findAgent } from '../registry/agent-row';
import { explainAgent } from '../registry/explain-agent';
import { requestWake } from '../life/wakes';
import { learnIdleHabits } from './learn-idle-habits';
import { purgeIdleTimes } from './purge-idle';

describe('learning of a machine’s idle times', () => {
  let harness: Harness;
  let db: Database;
  let workflowId: string;
  let agentRef: { organizationId: string; agentId: string };

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, MachinesModule],
    });
    db = harness.db;
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
    const { id: organizationId } = await makeOrganization(db);
    const row = { organizationId, name: newId(), status: 'online', provider: 'ec2', bootMs: 60_000 } as const;
    workflowId = (await makeWorkflow(db, { organizationId })).id;
    agentRef = { organizationId, agentId: (await makeAgent(db, { ...row, lastSeen: new Date() })).id };
  });

  const querySql = (sql: string, values: unknown[] = []) => db.query<any>('system', sql, values);
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  /**
   * Inserts a past run. Its id contains the time of queueing, and its times have microseconds like those that the
   * database writes.
   */
  async function insertPastRun(
    queued: number,
    finished: number | null,
    scheduleId: string | null = null,
  ): Promise<void> {
    const queuedAt = minutesAgo(queued);
    const id = `${queuedAt.getTime().toString(16).padStart(12, '0')}${newId().replaceAll('-', '').slice(12)}`;
    const status = finished === null ? 'running' : 'completed';
    const finishedAt = finished === null ? null : minutesAgo(finished);
    await querySql(
      `INSERT INTO job (id, organization_id, agent_id, workflow_id, workflow_revision, status, queued_at, finished_at,
         schedule_id)
       VALUES ($1, $2, $3, $4, 1, $5, $6::timestamptz + interval '421 microseconds',
         $7::timestamptz + interval '421 microseconds', $8)`,
      [id, agentRef.organizationId, agentRef.agentId, workflowId, status, queuedAt, finishedAt, scheduleId],
    );
  }
  const readIdleTimes = async () =>
    (
      await querySql(
        `SELECT round(extract(epoch FROM COALESCE(ended_at, now()) - began_at) / 60)::int AS minutes,
                ended_at IS NULL AS open, scheduled, round(on_ms / 60000.0)::int AS on, on_since IS NOT NULL AS is_on, slept
         FROM agent_idle WHERE agent_id = $1 ORDER BY began_at`,
        [agentRef.agentId],
      )
    ).map(({ minutes, open, scheduled, on, isOn, slept }) => [minutes, open, scheduled, on, isOn, slept]);

  it('each idle time between runs is recorded once, even with concurrent and repeated rounds', async () => {
    await insertPastRun(100, 90);
    await insertPastRun(60, 55, newId());
    await insertPastRun(40, 30);
    await Promise.all([learnIdleHabits(db), learnIdleHabits(db)]);
    const learned = [
      [30, false, true, null, false, false],
      [15, false, false, null, false, false],
      [30, true, false, 0, true, false],
    ];
    expect(await readIdleTimes()).toEqual(learned);
    expect(await learnIdleHabits(db)).toEqual({ looked: 0, learned: 0 });
    await insertPastRun(20, 10);
    expect(await learnIdleHabits(db)).toEqual({ looked: 1, learned: 1 });
    expect(await readIdleTimes()).toEqual([
      ...learned.slice(0, 2),
      [10, false, false, 10, false, false],
      [10, true, false, 0, true, false],
    ]);
  });

  it('an idle time is not recorded while its machine is being stopped', async () => {
    await insertPastRun(100, 90);
    const learned = await runBesideLock(
      db,
      (tx) => tx.execute("UPDATE agent SET status = 'stopped' WHERE id = $1", [agentRef.agentId]),
      () => learnIdleHabits(db),
    );
    expect(learned).toEqual({ looked: 1, learned: 0 });
  });

  it('an idle time stays open until the next run, in any number of rounds', async () => {
    await insertPastRun(100, 90);
    for (let look = 0; look < 3; look += 1) await learnIdleHabits(db);
    expect(await readIdleTimes()).toEqual([[90, true, false, 0, true, false]]);
    await insertPastRun(5, 4);
    for (let look = 0; look < 3; look += 1) await learnIdleHabits(db);
    expect(await readIdleTimes()).toEqual([
      [85, false, false, 85, false, false],
      [4, true, false, 0, true, false],
    ]);
  });

  it('the next idle time starts when the current run ends', async () => {
    await insertPastRun(100, 90);
    await insertPastRun(20, null);
    await learnIdleHabits(db);
    expect(await readIdleTimes()).toEqual([[70, false, false, null, false, false]]);
    expect((await learnIdleHabits(db)).learned).toBe(0);
    await querySql(
      `UPDATE job SET status = 'completed', finished_at = now() WHERE status = 'running' AND agent_id = $1`,
      [agentRef.agentId],
    );
    await learnIdleHabits(db);
    expect((await readIdleTimes()).length).toBe(2);
  });

  it('an idle time records how long the machine was on, and what the adaptive policy would have saved', async () => {
    await insertPastRun(100, 20);
    await learnIdleHabits(db);
    await querySql(
      `UPDATE agent SET last_activity_at = now() - interval '31 minutes', last_activity = 'a run ended',
         status_since = now() - interval '2 hours'
       WHERE id = $1`,
      [agentRef.agentId],
    );
    expect(await stopIdleAgents(db)).toMatchObject({ stopping: 1 });
    await harness.app.nest.get(MachineControl).executeOrder(agentRef.agentId);
    expect(await readIdleTimes()).toEqual([[20, true, false, 20, false, false]]);
    await db.transaction('system', (tx) =>
      requestWake(tx, { ...agentRef, source: 'schedule', reason: 'prewake', timeoutMs: 60_000 }),
    );
    expect((await readIdleTimes())[0]).toEqual([20, true, false, 20, true, false]);
    await querySql(`UPDATE agent_idle SET on_since = now() - interval '5 minutes' WHERE agent_id = $1`, [
      agentRef.agentId,
    ]);
    await insertPastRun(2, 1, newId());
    await learnIdleHabits(db);
    expect((await readIdleTimes())[0]).toEqual([18, false, true, 18, false, false]);
    // Five minutes: without idle times to learn from, the adaptive policy would have left the machine on for this long.
    // The row shows that the machine was on for the whole idle time.
    const [saved] = await querySql(
      `SELECT policy, saved_ms, saved_micros, on_ms,
              round(extract(epoch FROM ended_at - began_at) * 1000)::bigint AS length
       FROM agent_idle WHERE agent_id = $1 ORDER BY began_at LIMIT 1`,
      [agentRef.agentId],
    );
    expect(saved.policy).toBe('fixed');
    // A stop costs half a minute, and the boot ahead of the scheduled time takes 69 s.
    expect(saved.savedMs).toBe(saved.onMs - 300_000 - 30_000 - 69_000);
    // Half a micro-dollar is rounded to even, like all amounts.
    expect(saved.savedMicros).toBe(Number(divideRoundingHalfEven(BigInt(saved.savedMs) * 120_000n, 3_600_000n)));
  });

  it('an idle time has no saving if a person used the machine or the machine could not be stopped', async () => {
    const readSavings = async () =>
      querySql(
        `SELECT policy, saved_ms, round(on_ms / 60000.0)::int AS on FROM agent_idle
         WHERE agent_id = $1 AND ended_at IS NOT NULL ORDER BY began_at`,
        [agentRef.agentId],
      );
    // The last run ended 33 minutes ago, and then a person used the machine.
    await insertPastRun(40, 33);
    await learnIdleHabits(db);
    await querySql(
      `UPDATE agent SET last_activity_at = now() - interval '31 minutes', last_activity = 'activity that a client reported',
         status_since = now() - interval '2 hours'
       WHERE id = $1`,
      [agentRef.agentId],
    );
    expect(await stopIdleAgents(db)).toMatchObject({ stopping: 1 });
    await harness.app.nest.get(MachineControl).executeOrder(agentRef.agentId);
    await insertPastRun(2, 1);
    await learnIdleHabits(db);
    expect(await readSavings()).toEqual([{ policy: 'fixed', savedMs: null, on: 31 }]);
    // The machine was on for nearly an hour, twice the limit.
    await querySql(
      `UPDATE agent_idle SET began_at = $2, on_since = $2, on_ms = 0 WHERE agent_id = $1 AND ended_at IS NULL`,
      [agentRef.agentId, minutesAgo(61)],
    );
    await insertPastRun(0.5, 0.2);
    await learnIdleHabits(db);
    expect((await readSavings()).toSorted((one, other) => other.on - one.on)[0]).toEqual({
      policy: 'fixed',
      savedMs: null,
      on: 59,
    });
  });

  it('an idle time ends with the first run that followed, even if one round cannot read all runs', async () => {
    await insertPastRun(800, 790);
    await learnIdleHabits(db);
    // Ten minutes later runs start, with no idle time between them.
    for (let at = 780; at > 5; at -= 1) await insertPastRun(at, at - 1);
    await learnIdleHabits(db);
    expect((await readIdleTimes())[0]).toEqual([10, false, false, 10, false, false]);
    const [{ idleMs }] = await querySql(
      `SELECT sum(extract(epoch FROM COALESCE(ended_at, now()) - began_at) * 1000)::float8 AS idle_ms
       FROM agent_idle WHERE agent_id = $1`,
      [agentRef.agentId],
    );
    expect(Math.round(idleMs / 60_000)).toBe(15);
    expect(await learnIdleHabits(db)).toEqual({ looked: 0, learned: 0 });
  });

  it('idle times are deleted after five weeks', async () => {
    await insertPastRun(100, 90);
    await insertPastRun(60, 55);
    await learnIdleHabits(db);
    const makeIdleTimesOlder = (days: number) =>
      querySql(
        `UPDATE agent_idle SET began_at = began_at - $2 * interval '1 day', ended_at = ended_at - $2 * interval '1 day'
         WHERE agent_id = $1 AND ended_at IS NOT NULL`,
        [agentRef.agentId, days],
      );
    await makeIdleTimesOlder(34);
    expect(await purgeIdleTimes(db, new Round('test'))).toEqual({ idleTimes: 0 });
    await makeIdleTimesOlder(2);
    expect(await purgeIdleTimes(db, new Round('test'))).toEqual({ idleTimes: 1 });
    expect(await readIdleTimes()).toHaveLength(1);
  });

  it('the adaptive policy stops a machine with rare runs at once, but not while a job is queued', async () => {
    await querySql(`UPDATE organization_settings SET idle_stop_policy = 'adaptive' WHERE organization_id = $1`, [
      agentRef.organizationId,
    ]);
    for (let hours = 20; hours > 0; hours -= 2) await insertPastRun(hours * 60 + 1, hours * 60);
    await insertPastRun(2, 1);
    await learnIdleHabits(db);
    const makeAgentIdleFor = (minutes: number) =>
      querySql(
        `UPDATE agent SET last_activity = 'a run ended', last_activity_at = $2, status_since = $2 WHERE id = $1`,
        [agentRef.agentId, minutesAgo(minutes)],
      );
    await makeAgentIdleFor(0.05);
    const agent = await findAgent(db, agentRef.organizationId, agentRef.agentId);
    expect(agent.gaps).toHaveLength(10);
    const { why } = explainAgent(agent, null, minutesAgo(0.1));
    expect(why).toContain(': judging by its last 10 idle times, its next run starts after more than 30 min.');
    // While a job is queued, the machine of its agent is never stopped as idle.
    const { id: jobId } = await makeJob(db, agentRef);
    expect(await stopIdleAgents(db)).toMatchObject({ stopping: 0 });
    await querySql('DELETE FROM job WHERE id = $1', [jobId]);
    expect(await stopIdleAgents(db)).toMatchObject({ looked: 1, stopping: 1 });
    const [{ message }] = await querySql(
      `SELECT message FROM timeline_entry WHERE agent_id = $1 AND data->>'eventType' = 'idle_stop_attempt'`,
      [agentRef.agentId],
    );
    expect(message).toContain(
      'another start is cheaper than staying on: judging by its last 10 idle times, its next run starts after more than 30 min',
    );
  });

  it('the adaptive policy waits for a run that is due soon, up to the limit of the organization', async () => {
    await querySql(
      `UPDATE organization_settings SET idle_stop_policy = 'adaptive', idle_stop_minutes = 3 WHERE organization_id = $1`,
      [agentRef.organizationId],
    );
    for (let at = 20; at > 0; at -= 1) await insertPastRun(at * 3 + 1, at * 3);
    await learnIdleHabits(db);
    const makeAgentIdleFor = (minutes: number) =>
      querySql(
        `UPDATE agent SET last_activity = 'a run ended', last_activity_at = $2, status_since = $2 WHERE id = $1`,
        [agentRef.agentId, minutesAgo(minutes)],
      );
    await makeAgentIdleFor(1.5);
    expect(await stopIdleAgents(db)).toMatchObject({ looked: 1, stopping: 0 });
    await makeAgentIdleFor(3.1);
    expect(await stopIdleAgents(db)).toMatchObject({ looked: 1, stopping: 1 });
  });
});
