import { AccessModule, type Principal } from '@muster/access';
import { type AgentStatus, agentStatuses, type CommandKind, commandKinds } from '@muster/contracts';
import { DatabaseModule } from '@muster/database';
import { Clock, newId, PubSub } from '@muster/platform';
import { runBehindLock, type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { CommandsModule } from '../commands.module';
import { readRunFiles } from '../files/read-run-files';
import { decideCommandReadiness, startCommand } from './start-command';

describe('a command', () => {
  const decide = (status: AgentStatus, more: object = {}, kind: CommandKind = 'snippet') =>
    decideCommandReadiness({ status, provider: 'local', autoWake: true, drain: null, ...more }, kind).action;

  it('a command is sent to a machine that is on or booting, wakes one that is off, or is refused', () => {
    for (const status of ['online', 'starting', 'rebooting'] as const) expect(decide(status)).toBe('issue');
    for (const status of ['stopped', 'stopping', 'offline'] as const) {
      expect(decide(status)).toBe('wake');
      expect(decide(status, { autoWake: false })).toBe('blocked');
      expect(decide(status, { provider: 'external' })).toBe('refuse');
    }
    expect(decide('terminated')).toBe('refuse');
  });

  it('a repair command is issued to an offline agent of any provider', () => {
    for (const provider of ['local', 'external', 'http'] as const) {
      expect(decide('offline', { provider, autoWake: false }, 'repair')).toBe('issue');
    }
    expect(decide('stopped', {}, 'repair')).toBe('wake');
  });

  it('an agent that is being drained gets only commands that start no new work, in every status', () => {
    const allowed = ['stop_job', 'attach_recording', 'stop_recording', 'repair', 'restart'];
    for (const kind of commandKinds) {
      expect(decide('draining', {}, kind)).toBe(allowed.includes(kind) ? 'issue' : 'refuse');
      for (const status of agentStatuses.filter((each) => each !== 'terminated')) {
        const drained = decide(status, { drain: 'finish', autoWake: false }, kind);
        if (!allowed.includes(kind)) expect(drained).toBe('refuse');
        else if (status !== 'draining') expect(drained).toBe(decide(status, { autoWake: false }, kind));
      }
    }
  });
});

describe('a command whose request waits for the agent', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, CommandsModule],
    });
  });
  afterAll(() => harness.close());

  it('a command is refused for an agent that is terminated while the request waits', async () => {
    const { db } = harness;
    const { id: organizationId } = await makeOrganization(db);
    const { id: agentId } = await makeAgent(db, { organizationId, provider: 'http', status: 'online' });
    const command = { organizationId, agentId, kind: 'snippet', payload: { code: 'pass' } } as const;
    const times = { timeoutMs: 1000, wakeTimeoutMs: 1000, now: new Date() };
    const started = runBehindLock(
      db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [db.transaction('system', (tx) => startCommand(tx, { ...command, ...times }))],
      (tx) => tx.execute("UPDATE agent SET status = 'terminated' WHERE id = $1", [agentId]),
    );
    await expect(started).rejects.toMatchObject({ code: 'agent_not_ready' });
    expect(await db.query('system', 'SELECT FROM agent_command WHERE agent_id = $1', [agentId])).toEqual([]);
  });

  it('files are not read from an agent that stops while the request waits', async () => {
    const { db } = harness;
    const { id: organizationId } = await makeOrganization(db);
    const { id: agentId } = await makeAgent(db, { organizationId, provider: 'http', status: 'online' });
    const parts = { database: db, pubSub: harness.app.nest.get(PubSub), clock: harness.app.nest.get(Clock) };
    const caller = { kind: 'user', id: newId(), organizationId } as Principal;
    const read = runBehindLock(
      db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [readRunFiles(parts, caller, agentId, { action: 'list', path: '' })],
      (tx) => tx.execute("UPDATE agent SET status = 'stopping' WHERE id = $1", [agentId]),
    );
    await expect(read).rejects.toMatchObject({ code: 'agent_not_ready' });
    expect(await db.query('system', 'SELECT FROM agent_command WHERE agent_id = $1', [agentId])).toEqual([]);
  });
});
