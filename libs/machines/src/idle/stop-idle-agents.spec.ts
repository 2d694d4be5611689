import { AccessModule } from '@muster/access';
import type { AgentStatus } from '@muster/contracts';
import { type Database, DatabaseModule } from '@muster/database';
import { newId } from '@muster/platform';
import { runBesideLock, type Harness, makeAgent, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { MachineError, type MachineProvider, Machines, type MachineState, VmConfig } from '@muster/vm';
import { findAgent } from '../registry/agent-row';
import { explainAgent } from '../registry/explain-agent';
import { MachineControl } from '../orders/machine-control';
import { MachinesModule } from '../orders/machines.module';
import { stopIdleAgents } from './stop-idle-agents';

describe('the idle monitor', () => {
  let harness: Harness;
  let db: Database;
  let organizationId: string;
  let agentCount = 0;
  let state: MachineState;
  let fault: Error | null;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, MachinesModule],
    });
    db = harness.db;
    const provider: MachineProvider = {
      describe: async () => ({ state, ip: null }),
      start: async () => undefined,
      stop: async () => {
        if (fault) throw fault;
        state = 'stopped';
      },
      reboot: async () => undefined,
      terminate: async () => undefined,
    };
    jest.spyOn(harness.app.nest.get(Machines, { strict: false }), 'get').mockReturnValue(provider);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    state = 'running';
    fault = null;
    await db.query('system', `UPDATE organization_settings SET auto_stop_enabled = false`);
    organizationId = (await makeOrganization(db)).id;
  });

  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  const stopIdleAgentsNow = () => stopIdleAgents(db, { now: new Date() });
  async function makeIdleAgent(input: Record<string, unknown> = {}): Promise<string> {
    agentCount += 1;
    const status: AgentStatus = 'online';
    const agent = await makeAgent(db, {
      organizationId,
      name: `Machine ${agentCount}`,
      status,
      provider: 'ec2',
      statusSince: minutesAgo(100),
      lastSeen: new Date(),
      lastActivityAt: minutesAgo(31),
      ...input,
    });
    return agent.id;
  }
  const readAgentRow = async (id: string) =>
    (await db.query<Record<string, any>>('system', 'SELECT * FROM agent WHERE id = $1', [id]))[0]!;
  const readStatus = async (id: string) => (await readAgentRow(id))['status'] as string;
  const readEvents = async (id: string) =>
    (
      await db.query<{ event: string; source: string; previous: string; current: string }>(
        'system',
        `SELECT data->>'eventType' AS event, source, data->>'previousStatus' AS previous,
                data->>'currentStatus' AS current
         FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle' ORDER BY seq`,
        [id],
      )
    ).map(({ event, source, previous, current }) => `${event} ${source} ${previous} → ${current}`);
  const executeOrderOfAgent = (id: string) => harness.app.nest.get(MachineControl).executeOrder(id);

  it('the idle monitor stops a machine that was idle for the limit, and records each step', async () => {
    const [idle, busy] = [await makeIdleAgent(), await makeIdleAgent({ lastActivityAt: minutesAgo(29) })];
    expect(await stopIdleAgentsNow()).toEqual({ looked: 1, stopping: 1 });
    expect([await readStatus(idle), await readStatus(busy)]).toEqual(['stopping', 'online']);
    await executeOrderOfAgent(idle);
    expect(await readStatus(idle)).toBe('stopped');
    expect(await readEvents(idle)).toEqual([
      'idle_stop_attempt idle_monitor online → stopping',
      'idle_stop_success idle_monitor stopping → stopped',
    ]);
    expect(await readAgentRow(idle)).toMatchObject({ onSince: null, vmState: 'stopped' });
  });

  it('an agent whose idle stop failed is online if it still reports, and the next idle stop is delayed', async () => {
    fault = new MachineError('not_supported', 'There is no such switch.');
    const speaking = await makeIdleAgent();
    const silent = await makeIdleAgent({ lastSeen: minutesAgo(20) });
    await stopIdleAgentsNow();
    for (const id of [speaking, silent]) await executeOrderOfAgent(id);
    expect([await readStatus(speaking), await readStatus(silent)]).toEqual(['online', 'offline']);
    expect((await readEvents(speaking)).at(-1)).toBe('idle_stop_failed idle_monitor stopping → online');
    expect(await stopIdleAgentsNow()).toEqual({ looked: 0, stopping: 0 });
    fault = null;
    await db.query(
      'system',
      'UPDATE agent SET idle_stop_failed_at = $2, status_since = $2, on_since = $2 WHERE id = ANY($1)',
      [[speaking, silent], minutesAgo(31)],
    );
    expect(await stopIdleAgentsNow()).toMatchObject({ stopping: 2 });
  });

  it('the idle monitor skips machines that are external, pinned, drained or woken, or have work', async () => {
    const working = await makeIdleAgent();
    const queued = await makeIdleAgent();
    const commanded = await makeIdleAgent();
    const woken = await makeIdleAgent();
    await makeJob(db, { organizationId, agentId: working, status: 'running' });
    await makeJob(db, { organizationId, agentId: queued });
    await db.query(
      'system',
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline)
       VALUES ($1, $2, $3, 'snippet', '{}', now() + interval '1 minute')`,
      [newId(), organizationId, commanded],
    );
    await db.query(
      'system',
      `INSERT INTO agent_wake (id, organization_id, agent_id, source, reason, deadline)
       VALUES ($1, $2, $3, 'api', 'test', now() + interval '1 minute')`,
      [newId(), organizationId, woken],
    );
    await makeIdleAgent({ idleAutoStopExempt: true });
    await makeIdleAgent({ drain: 'finish' });
    await makeIdleAgent({ status: 'draining', drain: 'finish' });
    await makeIdleAgent({ provider: 'external' });
    for (const status of ['starting', 'stopping', 'rebooting', 'stopped', 'terminated'])
      await makeIdleAgent({ status });
    expect(await stopIdleAgentsNow()).toEqual({ looked: 0, stopping: 0 });
    await db.query('system', 'UPDATE job SET status = $2 WHERE agent_id = ANY($1)', [[working, queued], 'completed']);
    expect(await stopIdleAgentsNow()).toMatchObject({ stopping: 2 });
  });

  it('the idle monitor does not stop a machine while work for it is being stored', async () => {
    const id = await makeIdleAgent();
    const swept = await runBesideLock(
      db,
      (tx) => tx.execute('UPDATE agent SET last_activity_at = muster_now() WHERE id = $1', [id]),
      stopIdleAgentsNow,
    );
    expect(swept).toEqual({ looked: 1, stopping: 0 });
    expect(await readStatus(id)).toBe('online');
  });

  it('the idle monitor follows the settings of the organization', async () => {
    const id = await makeIdleAgent({ lastActivityAt: minutesAgo(2) });
    await db.query('system', 'UPDATE organization_settings SET idle_stop_minutes = 1 WHERE organization_id = $1', [
      organizationId,
    ]);
    await db.query('system', 'UPDATE organization_settings SET auto_stop_enabled = false');
    expect(await stopIdleAgentsNow()).toMatchObject({ stopping: 0 });
    await db.query('system', 'UPDATE organization_settings SET auto_stop_enabled = true WHERE organization_id = $1', [
      organizationId,
    ]);
    expect(await stopIdleAgentsNow()).toMatchObject({ stopping: 1 });
    expect(await readStatus(id)).toBe('stopping');
  });

  it('the idle monitor stops a machine that was started and never reported, although a job waits for it', async () => {
    const id = await makeIdleAgent({
      status: 'offline',
      statusSince: minutesAgo(31),
      lastSeen: null,
      vmState: 'running',
    });
    await makeJob(db, { organizationId, agentId: id });
    const recent = await makeIdleAgent({ status: 'offline', statusSince: minutesAgo(29) });
    const turnedOn = await makeIdleAgent({ status: 'offline', statusSince: minutesAgo(40), onSince: minutesAgo(29) });
    expect(await stopIdleAgentsNow()).toMatchObject({ stopping: 1 });
    await executeOrderOfAgent(id);
    const states = [await readStatus(id), await readStatus(recent), await readStatus(turnedOn)];
    expect(states).toEqual(['stopped', 'offline', 'offline']);
    const enqueued = await db.query(
      'system',
      `SELECT FROM outbox WHERE name = 'dispatch-agent' AND payload->>'agentId' = $1`,
      [id],
    );
    expect(enqueued.length).toBeGreaterThan(0);
  });

  it('the silence of a repeatedly woken machine is counted from its first unsuccessful wake', async () => {
    const input = {
      status: 'offline',
      statusSince: minutesAgo(2),
      lastSeen: minutesAgo(120),
      onSince: minutesAgo(200),
    };
    const [first, later] = [await makeIdleAgent(input), await makeIdleAgent(input)];
    for (const [id, requestedAt] of [
      [first, 31],
      [first, 10],
      [later, 29],
      [later, 10],
    ] as const) {
      await db.query(
        'system',
        `INSERT INTO agent_wake (id, organization_id, agent_id, source, reason, state, requested_at, deadline)
         VALUES ($1, $2, $3, 'api', 'test', 'timeout', $4, $4)`,
        [newId(), organizationId, id, minutesAgo(requestedAt)],
      );
    }
    await stopIdleAgentsNow();
    expect([await readStatus(first), await readStatus(later)]).toEqual(['stopping', 'offline']);
  });

  it('an activity time in the future, after a clock was set back, is corrected', async () => {
    const id = await makeIdleAgent({ lastActivityAt: new Date(Date.now() + 24 * 3_600_000) });
    await stopIdleAgentsNow();
    expect(await readStatus(id)).toBe('online');
    expect(await stopIdleAgents(db, { now: new Date(Date.now() + 31 * 60_000) })).toMatchObject({ stopping: 1 });
  });

  it('concurrent replicas with small batches stop all idle machines, each once', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => makeIdleAgent()));
    const rounds = await Promise.all(
      Array.from({ length: 4 }, () => stopIdleAgents(db, { now: new Date(), limit: 7 })),
    );
    expect(rounds.reduce((sum, { stopping }) => sum + stopping, 0)).toBe(40);
    for (const id of ids) {
      expect(await readEvents(id)).toEqual(['idle_stop_attempt idle_monitor online → stopping']);
    }
  });

  it('the idle monitor stops a machine at the time that the machine’s explanation states', async () => {
    const id = await makeIdleAgent({ lastActivityAt: minutesAgo(29) });
    const { stopAt } = explainAgent(await findAgent(db, organizationId, id), null, new Date());
    const before = await stopIdleAgents(db, { now: new Date(stopAt!.getTime() - 1) });
    const then = await stopIdleAgents(db, { now: stopAt! });
    expect([before.stopping, then.stopping]).toEqual([0, 1]);
  });
});
