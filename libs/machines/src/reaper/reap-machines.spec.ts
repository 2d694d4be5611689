import type { AgentStatus } from '@muster/contracts';
import { AccessModule } from '@muster/access';
import { type Database, DatabaseModule } from '@muster/database';
import { Clock, Metrics, newId } from '@muster/platform';
import { runBesideLock, endCommands, type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { KeyRing, VaultModule } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';
import { MachinesModule } from '../orders/machines.module';
import { FakeCloud } from './fake-cloud.harness';
import { reapMachines, type ReaperParts } from './reap-machines';
import { Reaper } from './reaper';
import { ReaperConfig } from './reaper.config';
import { ReaperModule } from './reaper.module';

describe('the reaper', () => {
  let harness: Harness;
  let db: Database;
  let cloud: FakeCloud;
  let parts: ReaperParts;
  let ending: AbortController;
  let tenantId: string;
  const confirmMs = 60_000;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig, ReaperConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, MachinesModule, ReaperModule],
      env: { LOCAL_AGENTS_DIR: '/nonexistent/muster-agents' },
    });
    db = harness.db;
    tenantId = (await makeOrganization(db)).id;
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    cloud = new FakeCloud();
    ending = new AbortController();
    const { nest } = harness.app;
    const real = nest.get(Machines);
    const machines = { get: (provider: string) => (provider === 'ec2' ? cloud : real.get(provider)) };
    parts = { database: db, machines, keyRing: nest.get(KeyRing), clock: nest.get(Clock) };
    await db.query('system', 'DELETE FROM machine_finding');
    await db.query('system', 'DELETE FROM agent');
  });

  const reapOnce = (input: Partial<Parameters<typeof reapMachines>[1]> = {}) =>
    reapMachines(parts, { confirmMs, stopsOrphans: true, signal: ending.signal, onTerminated: endCommands, ...input });
  /** Moves the times of all findings into the past by this number of milliseconds. */
  const makeFindingsOlder = (ms = confirmMs) =>
    db.query(
      'system',
      `UPDATE machine_finding SET first_seen_at = first_seen_at - $1 * interval '1 millisecond',
              acted_at = acted_at - $1 * interval '1 millisecond'`,
      [ms],
    );
  const readFindings = () =>
    db.query<any>('system', 'SELECT kind, ref, reason, acted_at FROM machine_finding ORDER BY kind, ref');
  const agentOf = async (ref: string, status: AgentStatus = 'stopped', input: object = {}) => {
    const organizationId = tenantId;
    const providerConfig = { instanceId: ref, region: 'here' };
    const { id } = await makeAgent(db, {
      organizationId,
      name: newId(),
      status,
      provider: 'ec2',
      providerConfig,
      providerRef: ref,
      vmState: 'stopped',
      lastSeen: new Date(Date.now() - 3_600_000),
      ...input,
    });
    return { id, organizationId };
  };
  /** Adds a machine that has the tag of the test's organization. */
  const addTaggedMachine = (ref: string, input: object = {}) =>
    cloud.addMachine(ref, { organizationId: tenantId, ...input });
  const rowOf = async (id: string) => (await db.query<any>('system', 'SELECT * FROM agent WHERE id = $1', [id]))[0];
  const entriesOf = async (id: string) =>
    (
      await db.query<{ message: string }>(
        'system',
        'SELECT message FROM timeline_entry WHERE agent_id = $1 ORDER BY seq',
        [id],
      )
    ).map(({ message }) => message);

  it('the reaper reports a machine whose agent is terminated, and stops it once in a later pass', async () => {
    const { id } = await agentOf('i-1', 'terminated');
    const owned = await agentOf('i-2');
    addTaggedMachine('i-1', { agentId: id });
    addTaggedMachine('i-2', { agentId: owned.id });
    addTaggedMachine('i-3', { agentId: newId(), expiresAt: new Date(Date.now() + 60_000) });

    expect(await reapOnce()).toMatchObject({ orphansFound: 1, orphansStopped: 0 });
    expect(await reapOnce()).toMatchObject({ orphansFound: 0, orphansStopped: 0 });
    expect(cloud.stopped).toEqual([]);
    expect(await readFindings()).toEqual([
      { kind: 'orphan', ref: 'i-1', reason: 'its agent is terminated', actedAt: null },
    ]);

    await makeFindingsOlder();
    expect(await reapOnce()).toMatchObject({ orphansStopped: 1 });
    expect(await reapOnce()).toMatchObject({ orphansStopped: 0 });
    expect(cloud.stopped).toEqual(['i-1']);
    expect(cloud.machines.get('i-2')!.state).toBe('running');
    expect(await entriesOf(id)).toEqual([
      'its provider has the machine i-1, which is running: its agent is terminated',
      'the machine i-1 was stopped: its agent is terminated',
    ]);
    expect(await rowOf(owned.id)).toMatchObject({ status: 'stopped' });
  });

  it('concurrent passes of several reapers stop each orphan once', async () => {
    for (let i = 0; i < 5; i += 1) addTaggedMachine(`i-${i}`, { agentId: newId() });
    await agentOf('i-owned');
    addTaggedMachine('i-owned');
    const reapInThreeReplicas = () => Promise.all([reapOnce(), reapOnce(), reapOnce()]);
    await reapInThreeReplicas();
    await makeFindingsOlder();
    await reapInThreeReplicas();
    await reapInThreeReplicas();
    expect(cloud.stopped.sort()).toEqual(['i-0', 'i-1', 'i-2', 'i-3', 'i-4']);
  });

  it('the reaper stops an orphan again that was started again', async () => {
    await agentOf('i-owned');
    const orphan = addTaggedMachine('i-1', { agentId: newId() });
    await reapOnce();
    await makeFindingsOlder();
    await reapOnce();
    orphan.state = 'running';
    await reapOnce();
    expect(cloud.stopped).toEqual(['i-1']);
    await makeFindingsOlder();
    await reapOnce();
    expect(cloud.stopped).toEqual(['i-1', 'i-1']);
  });

  it('the reaper records a failed stop of an orphan and retries the stop in the next pass', async () => {
    const { id } = await agentOf('i-1', 'terminated');
    addTaggedMachine('i-1', { agentId: id });
    await reapOnce();
    await makeFindingsOlder();
    cloud.stopFails = true;
    expect(await reapOnce()).toMatchObject({ orphansStopped: 0, failed: 1 });
    cloud.stopFails = false;
    expect(await reapOnce()).toMatchObject({ orphansStopped: 1, failed: 0 });
    expect(await entriesOf(id)).toContainEqual(expect.stringContaining('could not be stopped: Not now.'));
  });

  it('the reaper reports orphans without stopping them if it is configured so', async () => {
    await agentOf('i-owned');
    addTaggedMachine('i-1', { agentId: newId() });
    await reapOnce({ stopsOrphans: false });
    await makeFindingsOlder();
    await reapOnce({ stopsOrphans: false });
    expect(cloud.stopped).toEqual([]);
    expect(await readFindings()).toHaveLength(2);
  });

  it('the reaper does not stop a machine that got an agent between two passes', async () => {
    await agentOf('i-owned');
    addTaggedMachine('i-owned');
    addTaggedMachine('i-1', { agentId: newId() });
    await reapOnce();
    await makeFindingsOlder();
    await agentOf('i-1');
    await reapOnce();
    expect(cloud.stopped).toEqual([]);
    expect(await readFindings()).toEqual([]);
  });

  it('the confirmation time of an orphan starts again if the machine was missing in between', async () => {
    await agentOf('i-owned');
    addTaggedMachine('i-owned');
    const orphan = addTaggedMachine('i-1', { agentId: newId() });
    await reapOnce();
    await makeFindingsOlder();
    cloud.machines.delete('i-1');
    await reapOnce();
    expect(await readFindings()).toEqual([]);
    cloud.machines.set('i-1', orphan);
    await reapOnce();
    expect(cloud.stopped).toEqual([]);
  });

  it('the reaper changes nothing if a provider does not answer, and ends at once on shutdown', async () => {
    const { id } = await agentOf('i-1', 'offline');
    addTaggedMachine('i-2', { agentId: newId() });
    await reapOnce();
    await makeFindingsOlder();
    cloud.silent = true;
    expect(await reapOnce()).toMatchObject({ silentPlaces: 1, orphansStopped: 0, goneOffline: 0 });
    expect(await readFindings()).toHaveLength(2);
    expect(await rowOf(id)).toMatchObject({ status: 'offline', vmState: 'stopped' });
    cloud.hangs = true;
    const began = Date.now();
    setTimeout(() => ending.abort(), 50);
    await reapOnce();
    expect(Date.now() - began).toBeLessThan(9000);
  });

  it('the reaper terminates an agent whose machine was terminated, after a second check', async () => {
    const { id } = await agentOf('i-1');
    const bystander = await agentOf('i-2');
    for (const agentId of [id, bystander.id]) {
      await db.query(
        'system',
        `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline)
         VALUES ($1, $2, $3, 'snippet', '{}', now() + interval '1 hour')`,
        [newId(), tenantId, agentId],
      );
    }
    addTaggedMachine('i-1', { agentId: id, state: 'gone' });
    addTaggedMachine('i-2', { agentId: bystander.id, state: 'stopped' });
    expect(await reapOnce()).toMatchObject({ goneFound: 1 });
    expect(await rowOf(id)).toMatchObject({ status: 'stopped' });
    await reapOnce();
    expect(await rowOf(id)).toMatchObject({ status: 'stopped' });
    await makeFindingsOlder();
    expect(await reapOnce()).toMatchObject({ goneTerminated: 1 });
    expect(await rowOf(id)).toMatchObject({ status: 'terminated', statusSource: 'watchdog', vmState: 'gone' });
    expect(await rowOf(bystander.id)).toMatchObject({ status: 'stopped', vmState: 'stopped' });
    const enqueued = await db.query('system', `SELECT name FROM outbox WHERE payload->>'agentId' = $1 ORDER BY name`, [
      id,
    ]);
    expect(enqueued).toEqual([{ name: 'control-agent' }, { name: 'dispatch-agent' }]);
    const commands = await db.query('system', 'SELECT agent_id, status, error_code FROM agent_command ORDER BY status');
    expect(commands).toEqual([
      { agentId: id, status: 'failed', errorCode: 'agent_not_ready' },
      { agentId: bystander.id, status: 'pending', errorCode: null },
    ]);
    const audited = await db.query('system', 'SELECT action, actor_id FROM audit_entry WHERE target_id = $1', [id]);
    expect(audited).toEqual([{ action: 'agent.terminate', actorId: 'reaper' }]);
    expect(await readFindings()).toEqual([]);
  });

  it('the reaper moves an agent with an unknown machine to offline once, until the machine is back', async () => {
    const { id } = await agentOf('i-1');
    await reapOnce();
    await makeFindingsOlder();
    expect(await reapOnce()).toMatchObject({ goneOffline: 1 });
    await makeFindingsOlder();
    expect(await reapOnce()).toMatchObject({ goneOffline: 0, goneFound: 0 });
    expect(await rowOf(id)).toMatchObject({ status: 'offline', statusReason: 'its provider has no such machine' });
    expect((await entriesOf(id)).filter((message) => message.startsWith('offline:'))).toHaveLength(1);
    addTaggedMachine('i-1', { state: 'stopped' });
    await reapOnce();
    expect(await readFindings()).toEqual([]);
  });

  it('the reaper does not change an agent while a report of its machine is being stored', async () => {
    const { id } = await agentOf('i-1', 'offline');
    await reapOnce();
    await makeFindingsOlder();
    const seen = 'UPDATE agent SET last_seen = muster_now() WHERE id = $1';
    await runBesideLock(db, (tx) => tx.execute(seen, [id]), reapOnce);
    expect(await rowOf(id)).toMatchObject({ vmState: 'stopped' });
  });

  it('the reaper ignores agents that report or have an order in progress', async () => {
    const ids = await Promise.all([
      agentOf('i-1', 'online', { lastSeen: new Date() }),
      agentOf('i-2', 'starting'),
      agentOf('i-3', 'stopping'),
      agentOf('i-4', 'offline', { lastSeen: new Date() }),
    ]);
    for (const [index, { id }] of ids.entries()) addTaggedMachine(`i-${index + 1}`, { agentId: id, state: 'gone' });
    await reapOnce();
    await makeFindingsOlder();
    await reapOnce();
    const statuses = await Promise.all(ids.map(async ({ id }) => (await rowOf(id)).status));
    expect(statuses).toEqual(['online', 'starting', 'stopping', 'offline']);
    expect(await readFindings()).toEqual([]);
  });

  describe('at a shared location', () => {
    it('the reaper ignores machines without the tag of an organization of this service', async () => {
      const { id } = await agentOf('i-1', 'terminated');
      const other = await makeOrganization(db);
      cloud.addMachine('i-1', { agentId: id });
      cloud.addMachine('i-2', { agentId: id, organizationId: newId() });
      cloud.addMachine('i-3', { agentId: newId(), organizationId: 'no id' });
      await reapOnce();
      await makeFindingsOlder();
      expect(await reapOnce()).toMatchObject({ orphansFound: 0, orphansStopped: 0, failed: 0 });
      expect([cloud.stopped, await readFindings(), await entriesOf(id)]).toEqual([[], [], []]);
      // Another organization's machine is not recorded on the timeline of the agent that its tag names.
      cloud.addMachine('i-4', { agentId: id, organizationId: other.id });
      await reapOnce();
      expect(await readFindings()).toMatchObject([{ ref: 'i-4', reason: 'no agent owns it' }]);
      expect(await entriesOf(id)).toEqual([]);
    });

    it('the reaper never matches an agent with another organization’s machine of the same name', async () => {
      const ownAgent = await agentOf('i-1', 'terminated');
      const otherAgent = await agentOf('i-1', 'stopped', { organizationId: (await makeOrganization(db)).id });
      addTaggedMachine('i-1', { agentId: ownAgent.id, state: 'gone' });
      cloud.refused.add('i-1');
      await reapOnce();
      await makeFindingsOlder();
      await reapOnce();
      // The other organization's agent is not changed by the state of this machine. The machine's own agent is
      // terminated, so the machine is stopped.
      expect(await rowOf(otherAgent.id)).toMatchObject({ status: 'stopped', vmState: 'stopped' });
      cloud.machines.get('i-1')!.state = 'running';
      await reapOnce();
      await makeFindingsOlder();
      await reapOnce();
      expect(cloud.stopped).toEqual(['i-1']);
    });

    it('the reaper checks the other machines if the provider refuses to describe some', async () => {
      const { id } = await agentOf('i-gone');
      for (const ref of ['i-1', 'i-2', 'i-3', 'i-4', 'i-5']) {
        await agentOf(ref);
        cloud.refused.add(ref);
      }
      await reapOnce();
      expect(await readFindings()).toMatchObject([{ kind: 'gone', ref: id }]);
    });
  });

  it('the reaper lists all machines of a provider’s location in one request', async () => {
    for (let i = 0; i < 20; i += 1) addTaggedMachine(`i-${i}`, { agentId: (await agentOf(`i-${i}`)).id });
    await reapOnce();
    expect(cloud.lists).toBe(1);
    expect(await readFindings()).toEqual([]);
  });

  it('the reaper counts findings in the Prometheus metrics', async () => {
    await agentOf('i-1', 'offline', {
      provider: 'docker',
      providerConfig: { container: 'x', host: 'tcp://10.0.0.1:1' },
    });
    const counts = await harness.app.nest.get(Reaper).reapMachinesOnce({ onTerminated: endCommands });
    expect(counts).toMatchObject({ silentPlaces: 1, orphansFound: 0 });
    const text = await harness.app.nest.get(Metrics, { strict: false }).registry.metrics();
    expect(text).toContain('muster_machine_findings{kind="orphan"} 0');
    expect(text).toContain('muster_reaper_actions_total{action="silentPlaces"} 1');
  });
});
