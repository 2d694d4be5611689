import type { AgentStatus } from '@muster/contracts';
import { AccessModule } from '@muster/access';
import { type Database, DatabaseModule } from '@muster/database';
import { type Harness, startHarness } from '../app-harness';
import { makeAgent, makeOrganization } from '../factories';
import { waitFor } from '../wait-for';
import { StorageConfig } from '@muster/storage';
import { KeyRing, VaultModule } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { applyHandshake, applyHeartbeat, CommandsModule, recoverAgent } from '@muster/commands';
import { ControlPlane } from './control-plane';
import { MachineControl, MachinesModule, requestWake } from '@muster/machines';

export interface AgentRef {
  organizationId: string;
  agentId: string;
}

/**
 * Gives a test agents whose machines belong to a fake control plane, and runs the sweeps of the dispatcher for them.
 */
export function useMachines() {
  let harness: Harness;
  let db: Database;
  let machines: MachineControl;
  let plane: ControlPlane;
  let baseUrl: string;
  let sweeping: Promise<void>;
  let over = false;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, CommandsModule, MachinesModule],
      env: { OUTBOUND_ALLOW: '127.0.0.0/8', WAKE_TIMEOUT_MS: '400', STOP_TIMEOUT_MS: '8000' },
    });
    db = harness.db;
    machines = harness.app.nest.get(MachineControl);
    // Runs the sweep like the dispatcher does, but more often, and from two replicas.
    const sweepMachines = async () => {
      while (!over) {
        await Promise.all([machines.startAllDueWork(), machines.startAllDueWork()]);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    sweeping = sweepMachines();
  });
  afterAll(async () => {
    over = true;
    await sweeping;
    await machines.waitUntilIdle();
    await harness.close();
  });
  beforeEach(async () => {
    plane = new ControlPlane();
    baseUrl = await plane.listen();
  });
  afterEach(() => plane.close());

  async function makeAgentInStatus(status: AgentStatus = 'stopped', input: object = {}) {
    const { id: organizationId } = await makeOrganization(db);
    const providerConfig = { baseUrl, ref: 'vm-1' };
    const agent = await makeAgent(db, {
      organizationId,
      status,
      provider: 'http',
      providerConfig,
      providerRef: 'vm-1',
      bootId: 'old boot',
      ...(status === 'stopped' ? { endedBoots: ['old boot'] } : {}),
      lastSeen: new Date(),
      ...input,
    });
    return { organizationId, agentId: agent.id };
  }
  const requestWakeOf = (agentRef: AgentRef, input: { timeoutMs?: number; jobId?: string } = {}) =>
    db.transaction('system', (tx) =>
      requestWake(tx, { ...agentRef, source: 'dispatcher', reason: 'a job is queued', timeoutMs: 20_000, ...input }),
    );
  /** Wakes the agent and lets the wake time out after its machine was started, however long that takes. */
  const timeOutWake = async (agentRef: AgentRef) => {
    const starts = countOrders('start');
    const { wakeId } = await requestWakeOf(agentRef);
    await waitFor('the start', () => countOrders('start') > starts);
    const now = 'UPDATE agent_wake SET deadline = muster_now(), next_try_at = muster_now() WHERE id = $1';
    await db.query('system', now, [wakeId]);
  };
  const sendHandshake = ({ organizationId, agentId }: AgentRef, bootId: string) =>
    db.transaction('system', (tx) => applyHandshake(tx, organizationId, { agentId, bootId, workerVersion: '1' }));
  const sendHeartbeat = ({ organizationId, agentId }: AgentRef, bootId: string, healthy = true) =>
    applyHeartbeat(db, organizationId, { agentId, bootId, healthy }, new Date());
  const recoverMachine = ({ agentId }: AgentRef) =>
    recoverAgent({ database: db, keyRing: harness.app.nest.get(KeyRing, { strict: false }) }, agentId);
  const listEvents = async ({ agentId }: AgentRef) =>
    (
      await db.query<{ event: string; data: Record<string, string>; source: string }>(
        'system',
        `SELECT data->>'eventType' AS event, data, source FROM timeline_entry
         WHERE agent_id = $1 AND kind = 'lifecycle' ORDER BY seq`,
        [agentId],
      )
    ).map(({ event, data, source }) => ({ event, source, from: data['previousStatus'], to: data['currentStatus'] }));
  const listEventNames = async (agentRef: AgentRef) => (await listEvents(agentRef)).map(({ event }) => event);
  const readStatus = async ({ agentId }: AgentRef) =>
    (await db.query<{ status: string }>('system', 'SELECT status FROM agent WHERE id = $1', [agentId]))[0]!.status;
  const listWakes = ({ agentId }: AgentRef) =>
    db.query<{ state: string; attempt: number; error: string | null }>(
      'system',
      'SELECT state, attempt, error FROM agent_wake WHERE agent_id = $1 ORDER BY requested_at',
      [agentId],
    );
  const waitForStatus = (agentRef: AgentRef, status: string) =>
    waitFor(status, async () => (await readStatus(agentRef)) === status);
  const listMessages = async ({ agentId }: AgentRef, name: string) =>
    (await db.query('system', `SELECT FROM outbox WHERE name = $1 AND payload->>'agentId' = $2`, [name, agentId]))
      .length;
  const countOrders = (order: string) => plane.orders.filter((each) => each === order).length;

  return {
    agentAt: makeAgentInStatus,
    wake: requestWakeOf,
    timeOut: timeOutWake,
    handshake: sendHandshake,
    heartbeat: sendHeartbeat,
    recover: recoverMachine,
    eventsOf: listEvents,
    eventNames: listEventNames,
    statusOf: readStatus,
    wakesOf: listWakes,
    becomes: waitForStatus,
    messages: listMessages,
    count: countOrders,
    get plane() {
      return plane;
    },
    get machines() {
      return machines;
    },
    get db() {
      return db;
    },
    get harness() {
      return harness;
    },
  };
}
