import { AccessModule, type Principal } from '@muster/access';
import type { AgentStatus } from '@muster/contracts';
import { type AgentEntity, DatabaseModule, type Transaction } from '@muster/database';
import { Clock, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { KeyRing, VaultModule } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';
import { setIdleExempt } from '../activity/activity';
import { releaseMachinesOfJobsSql } from '../activity/machine-of-job';
import { setAgentStatus } from '../life/set-agent-status';
import { recordWakeBlocked, requestWake } from '../life/wakes';
import { startRecovery } from '../recovery/start-recovery';
import { loadAgent } from '../registry/agent-row';
import { executeOrder } from './execute-order';
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

  const querySql = <T extends object = any>(text: string, ...values: unknown[]) =>
    harness.db.query<T>('system', text, values);
  const makeAgentInStatus = async (status: AgentStatus, input: Partial<AgentEntity> = {}) =>
    (await makeAgent(harness.db, { organizationId, name: `Agent ${newId()}`, provider: 'http', status, ...input })).id;
  const runWhileAgentChanges = <T>(agentId: string, work: () => Promise<T>, change: string) =>
    runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [work()],
      (tx) => tx.execute(change, [agentId]),
    );
  const runInTransaction = <T>(work: (tx: Transaction) => Promise<T>) => harness.db.transaction('system', work);
  const readStatus = async (agentId: string) =>
    (await querySql('SELECT status FROM agent WHERE id = $1', agentId))[0].status;
  const openWake = (tx: Transaction, agentId: string) =>
    tx.execute(
      `INSERT INTO agent_wake (id, organization_id, agent_id, source, reason, attempt, deadline)
       VALUES ($1, $2, $3, 'api', 'a test', 0, muster_now() + interval '1 hour')`,
      [newId(), organizationId, agentId],
    );
  const readWakes = (agentId: string) => querySql('SELECT state, attempt FROM agent_wake WHERE agent_id = $1', agentId);
  const getOrderParts = () => {
    const { nest } = harness.app;
    const [machines, keyRing, clock] = [nest.get(Machines), nest.get(KeyRing), nest.get(Clock)];
    return { database: harness.db, machines, keyRing, clock };
  };
  const terminated = "UPDATE agent SET status = 'terminated' WHERE id = $1";

  it('a wake is refused for an agent that is terminated while the request waits', async () => {
    const agentId = await makeAgentInStatus('stopped');
    const request = { organizationId, agentId, source: 'api', reason: 'a test', timeoutMs: 1000 } as const;
    const woken = runWhileAgentChanges(agentId, () => runInTransaction((tx) => requestWake(tx, request)), terminated);
    await expect(woken).rejects.toMatchObject({ code: 'agent_not_ready' });
    expect(await readWakes(agentId)).toEqual([]);
  });

  it('two concurrent requests record the blocked wake of an agent once', async () => {
    const agentId = await makeAgentInStatus('stopped');
    const recordBlockedWake = () =>
      runInTransaction((tx) =>
        recordWakeBlocked(tx, { organizationId, agentId, source: 'api', reason: 'auto-wake is off' }),
      );
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [recordBlockedWake(), recordBlockedWake()],
    );
    expect(
      await querySql("SELECT FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle'", agentId),
    ).toHaveLength(1);
  });

  it('an agent stays terminated if it is terminated while the watchdog waits to move it to offline', async () => {
    const agentId = await makeAgentInStatus('online');
    const move = { organizationId, agentId, move: 'silent', to: 'offline', source: 'watchdog', reason: 'no report' };
    const moved = await runWhileAgentChanges(
      agentId,
      () => runInTransaction((tx) => setAgentStatus(tx, move as never)),
      terminated,
    );
    expect(moved).toEqual([null]);
    expect(await readStatus(agentId)).toBe('terminated');
  });

  it('two concurrent recoveries of an agent make one attempt', async () => {
    const agentId = await makeAgentInStatus('online', { recoveryChecks: 3 });
    const beginRecovery = () => runInTransaction((tx) => startRecovery(tx, agentId));
    const begun = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [beginRecovery(), beginRecovery()],
    );
    expect(begun.filter(({ decision }) => decision.step)).toHaveLength(1);
    expect(await querySql('SELECT FROM agent_recovery WHERE agent_id = $1', agentId)).toHaveLength(1);
  });

  it('a machine that reports while the end of its failed stop waits is online again', async () => {
    const agentId = await makeAgentInStatus('stopping', { lastSeen: new Date(0), previousStatus: 'online' });
    const order = {
      agentId,
      organizationId,
      status: 'stopping',
      statusSource: 'api',
      previousStatus: 'online',
      drain: null,
    };
    await runWhileAgentChanges(
      agentId,
      () => finishOrder(getOrderParts(), order as never, { reason: 'the provider refused the stop' }),
      'UPDATE agent SET last_seen = muster_now() WHERE id = $1',
    );
    expect(await readStatus(agentId)).toBe('online');
  });

  it('a stop is not executed if its agent is online again while the order waits for the agent’s row', async () => {
    const agentId = await makeAgentInStatus('stopping');
    await runWhileAgentChanges(
      agentId,
      () => harness.app.nest.get(MachineControl).executeOrder(agentId),
      "UPDATE agent SET status = 'online' WHERE id = $1",
    );
    expect(await querySql('SELECT FROM agent_control WHERE agent_id = $1', agentId)).toEqual([]);
  });

  it('a wake is ready if its machine reports while the attempt to start it waits for the agent', async () => {
    const agentId = await makeAgentInStatus('starting');
    await runInTransaction((tx) => openWake(tx, agentId));
    const [{ id }] = await querySql('SELECT id FROM agent_wake WHERE agent_id = $1', agentId);
    const steps = await runWhileAgentChanges(
      agentId,
      () => wakeMachine(getOrderParts(), id),
      "UPDATE agent SET status = 'online' WHERE id = $1",
    );
    expect(steps).toEqual(['ready']);
    expect(await readWakes(agentId)).toEqual([{ state: 'ready', attempt: 0 }]);
  });

  it('a machine is not started again if another process records its start while the attempt waits for the wake', async () => {
    const agentId = await makeAgentInStatus('starting');
    await runInTransaction((tx) => openWake(tx, agentId));
    const [{ id }] = await querySql('SELECT id FROM agent_wake WHERE agent_id = $1', agentId);
    const steps = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent_wake WHERE id = $1 FOR UPDATE', [id]),
      () => [wakeMachine(getOrderParts(), id)],
      (tx) => tx.execute('UPDATE agent_wake SET next_try_at = deadline, attempt = 1 WHERE id = $1', [id]),
    );
    expect(steps).toEqual(['none']);
    expect(await readWakes(agentId)).toEqual([{ state: 'open', attempt: 1 }]);
  });

  it('the report that a local worker cannot start also fails a wake that is requested while the report waits', async () => {
    const agentId = await makeAgentInStatus('starting', { provider: 'local' });
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [
        new LocalAgentRows(harness.db, getOrderParts().keyRing).recordAbandonedWorker(agentId, 'it ended at once'),
      ],
      (tx) => openWake(tx, agentId),
    );
    expect(await readWakes(agentId)).toEqual([{ state: 'failed', attempt: 0 }]);
    expect(await readStatus(agentId)).toBe('offline');
  });

  it('an agent stays in the status starting if a wake is requested while the sweep waits to move it to offline', async () => {
    const agentId = await makeAgentInStatus('starting');
    await querySql("UPDATE agent SET status_since = muster_now() - interval '1 minute' WHERE id = $1", agentId);
    const machines = harness.app.nest.get(MachineControl);
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [machines.startAllDueWork().then(() => machines.waitUntilIdle())],
      (tx) => openWake(tx, agentId),
    );
    expect(await readStatus(agentId)).toBe('starting');
  });

  it('the audit row of an idle exemption has the value that another change set while the request waited', async () => {
    const agentId = await makeAgentInStatus('online');
    const caller = { kind: 'user', id: newId(), organizationId } as Principal;
    await runWhileAgentChanges(
      agentId,
      () => runInTransaction((tx) => setIdleExempt(tx, caller, agentId, false)),
      'UPDATE agent SET idle_auto_stop_exempt = true WHERE id = $1',
    );
    const rows = await querySql('SELECT changes FROM audit_entry WHERE target_id = $1', agentId);
    expect(rows).toEqual([{ changes: { idleAutoStopExempt: [true, false] } }]);
  });

  it.each(['lock', 'lock_beside_launches'] as const)(
    'an agent that is read with `%s` has the status that another transaction set while the reader waited',
    async (lock) => {
      const agentId = await makeAgentInStatus('online');
      const [agent] = await runWhileAgentChanges(
        agentId,
        () => runInTransaction((tx) => loadAgent(tx, organizationId, agentId, lock)),
        terminated,
      );
      expect(agent!.status).toBe('terminated');
    },
  );

  it('the end of a run does not release an agent that received another run while the end waited for the agent', async () => {
    const [ended, next] = [newId(), newId()];
    const agentId = await makeAgentInStatus('online', { currentJobId: ended });
    const release = `WITH ended AS (SELECT $1::uuid AS job_id, $2::uuid AS agent_id)
      ${releaseMachinesOfJobsSql({ ended: 'ended', agentIds: 'ARRAY[$2::uuid]' })}`;
    await runWhileAgentChanges(
      agentId,
      () => runInTransaction((tx) => tx.execute(release, [ended, agentId])),
      `UPDATE agent SET current_job_id = '${next}' WHERE id = $1`,
    );
    expect(await querySql('SELECT current_job_id FROM agent WHERE id = $1', agentId)).toEqual([{ currentJobId: next }]);
  });

  it('a wake that is requested while the end of a termination waits is cancelled', async () => {
    const agentId = await makeAgentInStatus('terminated');
    let reach!: () => void;
    let leave!: () => void;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const left = new Promise<void>((resolve) => (leave = resolve));
    const terminate = () => {
      reach();
      return left;
    };
    const machines = { get: () => ({ terminate }) } as never;
    const limits = { rebootTimeoutMs: 60_000, stopTimeoutMs: 60_000 };
    const work = executeOrder({ ...getOrderParts(), machines }, agentId, limits);
    await reached;
    const start = () => {
      leave();
      return [work];
    };
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      start,
      (tx) => openWake(tx, agentId),
    );
    expect(await readWakes(agentId)).toMatchObject([{ state: 'cancelled' }]);
  });
});
