import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verify, AccessModule, signingSecretsOf } from '@muster/access';
import { Database, DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, startHarness, waitFor } from '@muster/testing';
import { KeyRing, VaultModule } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { AgentsModule } from '../agents-module';
import { MachineControl } from './machine-control';
import { MachinesModule } from './machines-module';
import { moveAgent } from './move-agent';
import { decideWakeStep } from './wake-machine';
import { completeWake, lastWakeFailures, recordWakeBlocked, requestWake, wakeBackoffMs } from './wakes';

/** A customer's control plane that does as it is told to, well or badly. */
class ControlPlane {
  state = 'stopped';
  readonly orders: string[] = [];
  behaviour: 'well' | 'fails' | 'hangs' | 'lies' = 'well';
  readonly signatures: string[] = [];
  private readonly server: Server = createServer((request, response) => {
    this.signatures.push(String(request.headers['x-service-signature']));
    const order = request.method === 'GET' ? 'describe' : request.url!.split('/').at(-1)!;
    this.orders.push(order);
    if (this.behaviour === 'hangs') return;
    if (this.behaviour === 'fails' && order !== 'describe') return answer(response, 500, {});
    if (order === 'describe') return answer(response, 200, { state: this.state, ip: null });
    if (this.behaviour !== 'lies') this.state = { start: 'running', reboot: 'running' }[order] ?? 'stopped';
    if (order === 'terminate') this.state = 'gone';
    return answer(response, 202, {});
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

describe('machines', () => {
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
      configs: [BaseConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, AgentsModule, MachinesModule],
      env: { OUTBOUND_ALLOW: '127.0.0.0/8', WAKE_TIMEOUT_MS: '400' },
    });
    db = harness.db;
    machines = harness.app.nest.get(MachineControl);
    // As the dispatcher does it, only faster, and from two replicas.
    const sweep = async () => {
      while (!over) {
        await Promise.all([machines.sweep(), machines.sweep()]);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    sweeping = sweep();
  });
  afterAll(async () => {
    over = true;
    await sweeping;
    await machines.settled();
    await harness.close();
  });
  beforeEach(async () => {
    plane = new ControlPlane();
    baseUrl = await plane.listen();
  });
  afterEach(() => plane.close());

  async function agentAt(status = 'stopped', input: object = {}) {
    const { id: organizationId } = await makeOrganization(db);
    const providerConfig = { baseUrl, ref: 'vm-1' };
    const agent = await makeAgent(db, {
      organizationId,
      status,
      provider: 'http',
      providerConfig,
      providerRef: 'vm-1',
      bootId: 'old boot',
      lastSeen: new Date(),
      ...input,
    });
    return { organizationId, agentId: agent.id };
  }
  type Of = Awaited<ReturnType<typeof agentAt>>;

  const wake = (of: Of, input: { timeoutMs?: number; jobId?: string } = {}) =>
    db.transaction('system', (tx) =>
      requestWake(tx, { ...of, source: 'dispatcher', reason: 'a job is queued', timeoutMs: 20_000, ...input }),
    );
  const handshake = (of: Of, bootId: string) =>
    db.transaction('system', async (tx) => {
      const from = ['starting', 'stopped', 'offline', 'rebooting'] as const;
      await moveAgent(tx, { ...of, from, to: 'online', source: 'handshake', reason: 'it reported' });
      await completeWake(tx, { ...of, bootId });
    });
  const eventsOf = async ({ agentId }: Of) =>
    (
      await db.query<{ event: string; data: Record<string, string>; source: string }>(
        'system',
        `SELECT data->>'eventType' AS event, data, source FROM timeline_entry
         WHERE agent_id = $1 AND kind = 'lifecycle' ORDER BY seq`,
        [agentId],
      )
    ).map(({ event, data, source }) => ({ event, source, from: data['previousStatus'], to: data['currentStatus'] }));
  const eventNames = async (of: Of) => (await eventsOf(of)).map(({ event }) => event);
  const statusOf = async ({ agentId }: Of) =>
    (await db.query<{ status: string }>('system', 'SELECT status FROM agent WHERE id = $1', [agentId]))[0]!.status;
  const wakesOf = ({ agentId }: Of) =>
    db.query<{ state: string; attempt: number; error: string | null }>(
      'system',
      'SELECT state, attempt, error FROM agent_wake WHERE agent_id = $1 ORDER BY requested_at',
      [agentId],
    );
  const becomes = (of: Of, status: string) => waitFor(status, async () => (await statusOf(of)) === status);
  const doorbells = async ({ agentId }: Of, name: string) =>
    (await db.query('system', `SELECT FROM outbox WHERE name = $1 AND payload->>'agentId' = $2`, [name, agentId]))
      .length;
  const count = (order: string) => plane.orders.filter((each) => each === order).length;

  describe('a wake', () => {
    it('is one for all who ask at once, and starts the machine once', async () => {
      const of = await agentAt();
      const asked = await Promise.all(Array.from({ length: 20 }, () => wake(of)));
      expect(new Set(asked.map(({ wakeId }) => wakeId)).size).toBe(1);
      expect(asked.filter(({ joined }) => !joined)).toHaveLength(1);
      await Promise.all(Array.from({ length: 10 }, () => machines.wake(asked[0]!.wakeId)));
      await waitFor('the start', () => count('start') === 1);
      await handshake(of, 'new boot');
      await machines.sweep();
      expect(count('start')).toBe(1);
      expect(await eventsOf(of)).toEqual([
        { event: 'wake_requested', source: 'dispatcher', from: 'stopped', to: 'starting' },
        { event: 'wake_ready', source: 'handshake', from: 'starting', to: 'online' },
      ]);
      expect(await wakesOf(of)).toEqual([{ state: 'ready', attempt: 1, error: null }]);
    });

    it('signs what it asks of the control plane with the organization’s secret', async () => {
      const of = await agentAt();
      await machines.wake((await wake(of)).wakeId);
      await waitFor('a call', () => plane.signatures.length > 0);
      const secrets = signingSecretsOf(harness.app.nest.get(KeyRing), of.organizationId);
      expect(plane.signatures.map((header) => verify(secrets, header, '', new Date()))).toContain('valid');
    });

    it('is ready with a handshake of another boot, and not with one of the boot before', async () => {
      const of = await agentAt();
      await wake(of);
      await db.transaction('system', (tx) => completeWake(tx, { ...of, bootId: 'old boot' }));
      expect((await wakesOf(of))[0]!.state).toBe('open');
      await handshake(of, 'new boot');
      expect((await wakesOf(of))[0]!.state).toBe('ready');
      await db.transaction('system', (tx) => completeWake(tx, { ...of, bootId: 'new boot' }));
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_ready']);
    });

    it('is ready too when the machine turns out to be there without a new boot', async () => {
      const of = await agentAt('offline');
      await wake(of);
      await db.transaction('system', (tx) =>
        moveAgent(tx, { ...of, from: ['starting'], to: 'online', source: 'heartbeat', reason: 'it is back' }),
      );
      await waitFor('the end', async () => {
        const [found] = await wakesOf(of);
        await db.query('system', 'UPDATE agent_wake SET next_try_at = now() WHERE agent_id = $1', [of.agentId]);
        return found!.state === 'ready';
      });
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_ready']);
    });

    it('times out where the machine never reports, and the agent is as its provider describes it', async () => {
      plane.behaviour = 'lies';
      const of = await agentAt();
      await wake(of, { timeoutMs: 300 });
      await becomes(of, 'stopped');
      expect(await eventsOf(of)).toEqual([
        { event: 'wake_requested', source: 'dispatcher', from: 'stopped', to: 'starting' },
        { event: 'wake_timeout', source: 'provider', from: 'starting', to: 'stopped' },
      ]);
      expect(count('start')).toBe(1);
      expect(await doorbells(of, 'dispatch-agent')).toBeGreaterThan(0);

      plane.behaviour = 'well';
      const other = await agentAt();
      await wake(other, { timeoutMs: 300 });
      await becomes(other, 'offline');
      expect(await eventNames(other)).toEqual(['wake_requested', 'wake_timeout']);
    });

    it('times out once, in time, where the control plane hangs', async () => {
      plane.behaviour = 'hangs';
      const of = await agentAt();
      await wake(of, { timeoutMs: 300 });
      await becomes(of, 'offline');
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_timeout']);
    });

    it('is tried again where the provider fails, and fails with its reason when the time is up', async () => {
      plane.behaviour = 'fails';
      const of = await agentAt();
      await wake(of, { timeoutMs: 2500 });
      await becomes(of, 'stopped');
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_failed']);
      const [only] = await wakesOf(of);
      expect(only).toMatchObject({ state: 'failed', error: expect.stringMatching(/status 500/) });
      expect(only!.attempt).toBeGreaterThan(1);
    });

    it('works out where the provider comes to its senses', async () => {
      plane.behaviour = 'fails';
      const of = await agentAt();
      await wake(of);
      await waitFor('a first failure', () => count('start') > 0);
      plane.behaviour = 'well';
      await waitFor('the start', () => plane.state === 'running');
      await handshake(of, 'new boot');
      expect(await wakesOf(of)).toMatchObject([{ state: 'ready', error: null }]);
    });

    it.each([
      ['external', {}, /cannot be started/],
      ['http', { baseUrl: 'http://169.254.169.254', ref: 'a' }, /not a public address/],
      ['ec2', { instanceId: 'i-12345678' }, /no machine provider of the name ec2/],
    ])('fails at once where trying again would change nothing: %s', async (provider, providerConfig, words) => {
      const of = await agentAt('offline', { provider, providerConfig, providerRef: null });
      await wake(of);
      await becomes(of, 'offline');
      await waitFor('the end', async () => (await wakesOf(of))[0]!.state === 'failed');
      expect(await wakesOf(of)).toEqual([{ state: 'failed', attempt: 1, error: expect.stringMatching(words) }]);
    });

    it('is not started a second time by whoever takes over from one that died with it', async () => {
      const of = await agentAt();
      await db.transaction('system', (tx) =>
        requestWake(tx, { ...of, source: 'api', reason: 'test', timeoutMs: 20_000 }),
      );
      await waitFor('the start', () => count('start') === 1);
      // As if the process had died between the provider's answer and its note of it.
      await db.query('system', 'UPDATE agent_wake SET next_try_at = now() WHERE agent_id = $1', [of.agentId]);
      await waitFor('another look', () => count('describe') > 0);
      await handshake(of, 'new boot');
      expect(count('start')).toBe(1);
    });

    it('of a machine that is stopping waits until it has stopped', async () => {
      plane.state = 'running';
      const of = await agentAt('stopping');
      expect((await wake(of)).joined).toBe(false);
      expect(await statusOf(of)).toBe('stopping');
      await machines.control(of.agentId);
      await waitFor('stop and start', () => count('stop') === 1 && count('start') === 1);
      expect(plane.orders.indexOf('stop')).toBeLessThan(plane.orders.indexOf('start'));
      await handshake(of, 'new boot');
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_ready']);
    });

    it('of a machine that is on is ready, and of one that is terminated refused', async () => {
      const on = await agentAt('online');
      await wake(on);
      expect(await wakesOf(on)).toMatchObject([{ state: 'ready' }]);
      expect(await eventNames(on)).toEqual([]);
      await expect(wake(await agentAt('terminated'))).rejects.toMatchObject({ code: 'agent_not_ready' });
    });
  });

  describe('a blocked wake', () => {
    const blocked = (of: Of, jobId?: string) =>
      db.transaction('system', (tx) =>
        recordWakeBlocked(tx, { ...of, source: 'dispatcher', reason: 'auto-wake is off', ...(jobId ? { jobId } : {}) }),
      );

    it('is told once for each job, and for callers without one only now and then', async () => {
      const of = await agentAt();
      const [first, second] = ['01a1fce9-0000-7000-8000-000000000001', '01a1fce9-0000-7000-8000-000000000002'];
      for (const jobId of [first, first, second, first, undefined, undefined]) await blocked(of, jobId);
      expect(await eventsOf(of)).toEqual(
        Array(3).fill({ event: 'wake_blocked', source: 'dispatcher', from: 'stopped', to: 'stopped' }),
      );
    });
  });

  describe('failures in a row', () => {
    it('let the next wake wait 1, 2, 4 … 30 minutes', () => {
      expect([0, 1, 2, 3, 4, 5, 6, 7, 100].map((n) => wakeBackoffMs(n) / 60_000)).toEqual([
        0, 1, 2, 4, 8, 16, 30, 30, 30,
      ]);
    });

    it('are counted since the last wake that worked', async () => {
      const of = await agentAt();
      const past = (state: string, minutes: number) =>
        db.query(
          'system',
          `INSERT INTO agent_wake (id, organization_id, agent_id, state, source, reason, requested_at, finished_at,
             deadline)
           VALUES (gen_random_uuid(), $1, $2, $3, 'api', 'test', now() - $4 * interval '1 minute',
             now() - $4 * interval '1 minute', now())`,
          [of.organizationId, of.agentId, state, minutes],
        );
      await past('failed', 50);
      await past('ready', 40);
      await past('timeout', 30);
      await past('cancelled', 20);
      await past('failed', 10);
      const failures = await db.transaction('system', (tx) => lastWakeFailures(tx, of.agentId));
      expect(failures.consecutive).toBe(2);
      expect(Math.round((Date.now() - failures.lastAt!.getTime()) / 60_000)).toBe(10);
    });
  });

  describe('a stop', () => {
    it('is over when the machine has stopped, and told once', async () => {
      plane.state = 'running';
      const of = await agentAt('stopping');
      await Promise.all([machines.control(of.agentId), machines.control(of.agentId)]);
      await becomes(of, 'stopped');
      expect(count('stop')).toBe(1);
      await machines.control(of.agentId);
      expect(count('stop')).toBe(1);
    });

    it('goes on until a control plane that fails has done it', async () => {
      plane.state = 'running';
      plane.behaviour = 'fails';
      const of = await agentAt('stopping');
      await machines.control(of.agentId);
      expect(await statusOf(of)).toBe('stopping');
      plane.behaviour = 'well';
      await becomes(of, 'stopped');
    });

    it('does not believe a control plane that says yes and does nothing', async () => {
      plane.state = 'running';
      plane.behaviour = 'lies';
      const of = await agentAt('stopping');
      await machines.control(of.agentId);
      await waitFor('some looks', () => count('describe') > 2);
      expect([await statusOf(of), count('stop')]).toEqual(['stopping', 1]);
      plane.state = 'stopped';
      await becomes(of, 'stopped');
    });

    it('that nobody was told of is found by the sweep', async () => {
      const of = await agentAt('stopping', { statusSince: new Date(Date.now() - 60_000) });
      await becomes(of, 'stopped');
      const starting = await agentAt('starting', { statusSince: new Date(Date.now() - 60_000) });
      await becomes(starting, 'offline');
    });

    it('by the idle monitor is told as its success or failure', async () => {
      plane.state = 'running';
      const of = await agentAt('stopping', { statusSource: 'idle_monitor' });
      await machines.control(of.agentId);
      await becomes(of, 'stopped');
      expect(await eventNames(of)).toEqual(['idle_stop_success']);
      const broken = await agentAt('stopping', { statusSource: 'idle_monitor', provider: 'ec2' });
      await machines.control(broken.agentId);
      await becomes(broken, 'offline');
      expect(await eventNames(broken)).toEqual(['idle_stop_failed']);
    });
  });

  describe('a reboot', () => {
    it('is ordered once, and over with the handshake of the new boot', async () => {
      const of = await agentAt('rebooting');
      await Promise.all([machines.control(of.agentId), machines.control(of.agentId)]);
      await waitFor('the order', () => count('reboot') === 1);
      await handshake(of, 'new boot');
      await machines.control(of.agentId);
      expect([await statusOf(of), count('reboot')]).toEqual(['online', 1]);
    });

    it('from which the machine does not come back leaves the agent offline', async () => {
      const of = await agentAt('rebooting');
      await machines.control(of.agentId);
      await becomes(of, 'offline');
      expect(count('reboot')).toBe(1);
    });

    it('that its control plane keeps refusing leaves the agent as its machine is', async () => {
      plane.behaviour = 'fails';
      const of = await agentAt('rebooting');
      await machines.control(of.agentId);
      await becomes(of, 'stopped');
    });
  });

  describe('a terminated agent', () => {
    it('has no machine, no keys and no open wake any more', async () => {
      const of = await agentAt();
      await wake(of);
      await db.transaction('system', (tx) =>
        moveAgent(tx, { ...of, from: ['starting'], to: 'terminated', source: 'api', reason: 'test' }),
      );
      await db.query(
        'system',
        `INSERT INTO api_key (id, organization_id, agent_id, name, scope, secret_hash)
         VALUES ('key' || substr(md5($2::text), 1, 10), $1, $2::uuid, 'k', 'worker', md5($2::text))`,
        [of.organizationId, of.agentId],
      );
      await machines.control(of.agentId);
      await waitFor('the end of its machine', () => plane.state === 'gone');
      await waitFor('the end of its keys', async () => {
        return (await db.query('system', 'SELECT FROM api_key WHERE agent_id = $1', [of.agentId])).length === 0;
      });
      expect((await wakesOf(of))[0]!.state).toBe('cancelled');
      await machines.control(of.agentId);
      expect(await statusOf(of)).toBe('terminated');
    });
  });

  it('a new agent begins as its control plane describes its machine', async () => {
    plane.state = 'running';
    const running = await agentAt('stopped', { lastSeen: null, bootId: null });
    await machines.control(running.agentId);
    expect(await statusOf(running)).toBe('offline');
    plane.behaviour = 'fails';
    plane.state = 'nonsense';
    const unknown = await agentAt('stopped', { lastSeen: null, bootId: null });
    await machines.control(unknown.agentId);
    expect(await statusOf(unknown)).toBe('stopped');
  });
});

describe('what is to be done about a wake', () => {
  it.each([
    [{ open: false, due: true, over: true, agentStatus: 'starting' }, 'none'],
    [{ open: true, due: true, over: false, agentStatus: 'starting' }, 'try'],
    [{ open: true, due: false, over: false, agentStatus: 'starting' }, 'none'],
    [{ open: true, due: false, over: true, agentStatus: 'starting' }, 'expire'],
    [{ open: true, due: true, over: false, agentStatus: 'stopping' }, 'later'],
    [{ open: true, due: true, over: false, agentStatus: 'rebooting' }, 'later'],
    [{ open: true, due: true, over: true, agentStatus: 'online' }, 'ready'],
    [{ open: true, due: true, over: true, agentStatus: 'terminated' }, 'cancel'],
  ] as const)('%j: %s', (facts, step) => expect(decideWakeStep(facts)).toBe(step));
});
