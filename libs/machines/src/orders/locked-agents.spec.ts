import { AccessModule, type Principal } from '@muster/access';
import type { AgentStatus } from '@muster/contracts';
import { type AgentEntity, DatabaseModule, type Transaction } from '@muster/database';
import { Clock, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { KeyRing, VaultModule } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';
import { setIdleExempt } from '../activity/activity';
import { setAgentStatus } from '../life/set-agent-status';
import { recordWakeBlocked, requestWake } from '../life/wakes';
import { startRecovery } from '../recovery/start-recovery';
import { finishOrder } from './finish-order';
import { LocalAgentRows } from './local-agents';
import { MachineControl } from './machine-control';
import { MachinesModule } from './machines.module';
import { wakeMachine } from './wake-machine';

describe('an agent that is changed while other code waits for its row', () => {
  let harness: Harness;
  let organizationId: string;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, MachinesModule],
    });
    ({ id: organizationId } = await makeOrganization(harness.db));
  });
  afterAll(async () => {
    await harness.app.nest.get(MachineControl).waitUntilIdle();
    await harness.close();
  });

  const sql = <T extends object = any>(text: string, ...values: unknown[]) =>
    harness.db.query<T>('system', text, values);
  const agentAt = async (status: AgentStatus, input: Partial<AgentEntity> = {}) =>
    (await makeAgent(harness.db, { organizationId, name: `Agent ${newId()}`, provider: 'http', status, ...input })).id;
  const changing = <T>(agentId: string, work: () => Promise<T>, change: string) =>
    runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [work()],
      (tx) => tx.execute(change, [agentId]),
    );
  const within = <T>(work: (tx: Transaction) => Promise<T>) => harness.db.transaction('system', work);
  const statusOf = async (agentId: string) => (await sql('SELECT status FROM agent WHERE id = $1', agentId))[0].status;
  const openWake = (tx: Transaction, agentId: string) =>
    tx.execute(
      `INSERT INTO agent_wake (id, organization_id, agent_id, source, reason, attempt, deadline)
       VALUES ($1, $2, $3, 'api', 'a test', 0, muster_now() + interval '1 hour')`,
      [newId(), organizationId, agentId],
    );
  const wakesOf = (agentId: string) => sql('SELECT state, attempt FROM agent_wake WHERE agent_id = $1', agentId);
  const parts = () => {
    const { nest } = harness.app;
    const [machines, keyRing, clock] = [nest.get(Machines), nest.get(KeyRing), nest.get(Clock)];
    return { database: harness.db, machines, keyRing, clock };
  };
  const terminated = "UPDATE agent SET status = 'terminated' WHERE id = $1";

  it('a wake is refused for an agent that is terminated while the request waits', async () => {
    const agentId = await agentAt('stopped');
    const request = { organizationId, agentId, source: 'api', reason: 'a test', timeoutMs: 1000 } as const;
    const woken = changing(agentId, () => within((tx) => requestWake(tx, request)), terminated);
    await expect(woken).rejects.toMatchObject({ code: 'agent_not_ready' });
    expect(await wakesOf(agentId)).toEqual([]);
  });

  it('two concurrent requests record the blocked wake of an agent once', async () => {
    const agentId = await agentAt('stopped');
    const record = () =>
      within((tx) => recordWakeBlocked(tx, { organizationId, agentId, source: 'api', reason: 'auto-wake is off' }));
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [record(), record()],
    );
    expect(await sql("SELECT FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle'", agentId)).toHaveLength(1);
  });

  it('an agent stays terminated if it is terminated while the watchdog waits to move it to offline', async () => {
    const agentId = await agentAt('online');
    const move = { organizationId, agentId, move: 'silent', to: 'offline', source: 'watchdog', reason: 'no report' };
    const moved = await changing(agentId, () => within((tx) => setAgentStatus(tx, move as never)), terminated);
    expect(moved).toEqual([null]);
    expect(await statusOf(agentId)).toBe('terminated');
  });

  it('two concurrent recoveries of an agent make one attempt', async () => {
    const agentId = await agentAt('online', { recoveryChecks: 3 });
    const begin = () => within((tx) => startRecovery(tx, agentId));
    const begun = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [begin(), begin()],
    );
    expect(begun.filter(({ decision }) => decision.step)).toHaveLength(1);
    expect(await sql('SELECT FROM agent_recovery WHERE agent_id = $1', agentId)).toHaveLength(1);
  });

  it('a machine that reports while the end of its failed stop waits is online again', async () => {
    const agentId = await agentAt('stopping', { lastSeen: new Date(0), previousStatus: 'online' });
    const order = {
      agentId,
      organizationId,
      status: 'stopping',
      statusSource: 'api',
      previousStatus: 'online',
      drain: null,
    };
    await changing(
      agentId,
      () => finishOrder(parts(), order as never, { reason: 'the provider refused the stop' }),
      'UPDATE agent SET last_seen = muster_now() WHERE id = $1',
    );
    expect(await statusOf(agentId)).toBe('online');
  });

  it('a stop is not executed if its agent is online again while the order waits for the agent’s row', async () => {
    const agentId = await agentAt('stopping');
    await changing(
      agentId,
      () => harness.app.nest.get(MachineControl).executeOrder(agentId),
      "UPDATE agent SET status = 'online' WHERE id = $1",
    );
    expect(await sql('SELECT FROM agent_control WHERE agent_id = $1', agentId)).toEqual([]);
  });

  it('a wake is ready if its machine reports while the attempt to start it waits for the agent', async () => {
    const agentId = await agentAt('starting');
    await within((tx) => openWake(tx, agentId));
    const [{ id }] = await sql('SELECT id FROM agent_wake WHERE agent_id = $1', agentId);
    const steps = await changing(
      agentId,
      () => wakeMachine(parts(), id),
      "UPDATE agent SET status = 'online' WHERE id = $1",
    );
    expect(steps).toEqual(['ready']);
    expect(await wakesOf(agentId)).toEqual([{ state: 'ready', attempt: 0 }]);
  });

  it('a machine is not started again if another process records its start while the attempt waits for the wake', async () => {
    const agentId = await agentAt('starting');
    await within((tx) => openWake(tx, agentId));
    const [{ id }] = await sql('SELECT id FROM agent_wake WHERE agent_id = $1', agentId);
    const steps = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent_wake WHERE id = $1 FOR UPDATE', [id]),
      () => [wakeMachine(parts(), id)],
      (tx) => tx.execute('UPDATE agent_wake SET next_try_at = deadline, attempt = 1 WHERE id = $1', [id]),
    );
    expect(steps).toEqual(['none']);
    expect(await wakesOf(agentId)).toEqual([{ state: 'open', attempt: 1 }]);
  });

  it('the report that a local worker cannot start also fails a wake that is requested while the report waits', async () => {
    const agentId = await agentAt('starting', { provider: 'local' });
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [new LocalAgentRows(harness.db, parts().keyRing).recordAbandonedWorker(agentId, 'it ended at once')],
      (tx) => openWake(tx, agentId),
    );
    expect(await wakesOf(agentId)).toEqual([{ state: 'failed', attempt: 0 }]);
    expect(await statusOf(agentId)).toBe('offline');
  });

  it('an agent stays in the status starting if a wake is requested while the sweep waits to move it to offline', async () => {
    const agentId = await agentAt('starting');
    await sql("UPDATE agent SET status_since = muster_now() - interval '1 minute' WHERE id = $1", agentId);
    const machines = harness.app.nest.get(MachineControl);
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [machines.startAllDueWork().then(() => machines.waitUntilIdle())],
      (tx) => openWake(tx, agentId),
    );
    expect(await statusOf(agentId)).toBe('starting');
  });

  it('the audit row of an idle exemption has the value that another change set while the request waited', async () => {
    const agentId = await agentAt('online');
    const caller = { kind: 'user', id: newId(), organizationId } as Principal;
    await changing(
      agentId,
      () => within((tx) => setIdleExempt(tx, caller, agentId, false)),
      'UPDATE agent SET idle_auto_stop_exempt = true WHERE id = $1',
    );
    const rows = await sql('SELECT changes FROM audit_entry WHERE target_id = $1', agentId);
    expect(rows).toEqual([{ changes: { idleAutoStopExempt: [true, false] } }]);
  });
});
