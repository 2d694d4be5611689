import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { newId, Round } from '@muster/platform';
import { runBesideLock, type Harness, makeAgent, makeOrganization, startHarness, waitFor } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { CommandsModule } from '../commands.module';
import { failSilentAgents, MachineControl, MachinesModule } from '@muster/machines';
import { CommandDelivery } from '../delivery/command-delivery';
import { enqueueDueRemovals } from '../uploads/remove-objects';
import { failOverdueCommands } from './fail-commands';

describe('the sweeps of agents, commands and orders', () => {
  let harness: Harness;
  let organizationId: string;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, CommandsModule, MachinesModule],
    });
    Logger.overrideLogger(false);
    organizationId = (await makeOrganization(harness.db)).id;
    agentId = (await makeAgent(harness.db, { organizationId, status: 'online', tunnelUrl: 'http://127.0.0.1:9' })).id;
  });
  afterAll(() => harness.close());

  const query = <T extends object = object>(sql: string, values: unknown[] = []) =>
    harness.db.query<T>('system', sql, values);

  async function insertCommands(count: number, change: { deadline: string; vaultKeys?: string[] }): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newId());
    await query(
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, env, vault_keys, deadline, next_push_at)
       SELECT id, $2, $3, 'snippet', '{}', '{}', $4, muster_now() + $5::interval + n * interval '1 millisecond', muster_now()
       FROM unnest($1::uuid[]) WITH ORDINALITY AS c (id, n)`,
      [ids, organizationId, agentId, change.vaultKeys ?? [], change.deadline],
    );
    return ids;
  }

  /** Adds a trigger that makes each update of the matching rows fail. */
  async function makeUpdatesFail(table: string, condition: string): Promise<void> {
    const client = new Client({ connectionString: harness.databaseUrl });
    await client.connect();
    await client.query(`
      CREATE OR REPLACE FUNCTION break_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'the row is broken';
      END $$;
      CREATE TRIGGER break_row BEFORE UPDATE ON ${table} FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION break_row()`);
    await client.end();
  }

  it('an overdue command does not fail while its result is being stored', async () => {
    const [id] = await insertCommands(1, { deadline: '-1 hour' });
    const swept = await runBesideLock(
      harness.db,
      (tx) => tx.execute("UPDATE agent_command SET status = 'success' WHERE id = $1", [id]),
      () => failOverdueCommands(harness.db),
    );
    expect(swept).toEqual({ looked: 1, failed: 0 });
    expect(await query('SELECT status FROM agent_command')).toEqual([{ status: 'success' }]);
    await query('DELETE FROM agent_command');
  });

  it('the sweep of overdue commands does not fail a run command, because only the end of its job ends it', async () => {
    const [run, snippet] = await insertCommands(2, { deadline: '-1 hour' });
    await query(`UPDATE agent_command SET kind = 'run' WHERE id = $1`, [run]);
    expect(await failOverdueCommands(harness.db)).toEqual({ looked: 1, failed: 1 });
    expect(await query('SELECT id, status FROM agent_command ORDER BY status')).toEqual([
      { id: snippet, status: 'failed' },
      { id: run, status: 'pending' },
    ]);
    await query('DELETE FROM agent_command');
  });

  it('a command that another process is leasing is not pushed a second time', async () => {
    const [id] = await insertCommands(1, { deadline: '1 hour' });
    const delivery = harness.app.nest.get(CommandDelivery, { strict: false });
    const pushed = await runBesideLock(
      harness.db,
      (tx) => tx.execute('UPDATE agent_command SET pushes = pushes + 1 WHERE id = $1', [id]),
      () => delivery.deliverDueCommands(),
    );
    expect(pushed).toMatchObject({ looked: 0 });
    await query('DELETE FROM agent_command');
  });

  it('a repair command is pushed to an offline agent, but not to an agent whose machine is stopped', async () => {
    const delivery = harness.app.nest.get(CommandDelivery, { strict: false });
    const push = async (status: 'offline' | 'stopped', kind: 'repair' | 'snippet') => {
      const { id } = await makeAgent(harness.db, {
        ...{ organizationId, status, name: newId(), tunnelUrl: 'http://127.0.0.1:9' },
      });
      const [command] = await insertCommands(1, { deadline: '1 hour' });
      await query('UPDATE agent_command SET agent_id = $2, kind = $3 WHERE id = $1', [command, id, kind]);
      await delivery.deliverCommand(command!);
      // The delivery loop of the app may have leased the command first, and then stores the result a moment later.
      return waitFor('the result of the push', async () => {
        const sql = 'SELECT push_error FROM agent_command WHERE id = $1';
        const [row] = await query<{ pushError: string | null }>(sql, [command]);
        return row!.pushError;
      });
    };
    expect(await push('offline', 'repair')).not.toBe('the agent is offline');
    expect(await push('offline', 'snippet')).toBe('the agent is offline');
    expect(await push('stopped', 'repair')).toBe('the agent is stopped');
    await query('DELETE FROM agent_command');
    await query('DELETE FROM agent WHERE id <> $1', [agentId]);
  });

  it('the removal of an object that is being removed is not requested again, until that removal has ended', async () => {
    const [key, jobId] = [newId(), newId()];
    await query(
      `INSERT INTO object_removal (storage_key, organization_id, job_id, last_arrival_at)
       VALUES ($1, $2, $3, muster_now() - interval '1 hour')`,
      [key, organizationId, jobId],
    );
    const enqueue = () => enqueueDueRemovals(harness.db, new Date());
    const beside = await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM object_removal WHERE storage_key = $1 FOR UPDATE', [key]),
      enqueue,
    );
    expect([beside, await enqueue(), await enqueue()]).toEqual([{ jobs: 0 }, { jobs: 1 }, { jobs: 0 }]);
  });

  it('an agent does not become offline while its report is being stored', async () => {
    await query("UPDATE agent SET status_since = muster_now() - interval '1 hour', last_seen = NULL");
    const swept = await runBesideLock(
      harness.db,
      (tx) => tx.execute('UPDATE agent SET last_seen = muster_now() WHERE id = $1', [agentId]),
      () => failSilentAgents(harness.db, { offlineAfterMs: 60_000 }),
    );
    expect(swept).toEqual({ looked: 1, silent: 0 });
    expect(await query('SELECT status FROM agent')).toEqual([{ status: 'online' }]);
  });

  it('the sweep of overdue commands reports a command that cannot be updated, and fails the others', async () => {
    const ids = await insertCommands(30, { deadline: '-1 hour' });
    await makeUpdatesFail('agent_command', `OLD.id = '${ids[0]}'`);
    const round = new Round('test');
    expect(await failOverdueCommands(harness.db, round)).toEqual({ looked: 30, failed: 29 });
    expect(round.failures).toEqual([{ row: `command ${ids[0]}`, error: 'the row is broken' }]);
    expect(await query(`SELECT id FROM agent_command WHERE status = 'pending'`)).toEqual([{ id: ids[0] }]);
    await query('DELETE FROM agent_command');
  });

  it('a full page of commands that cannot be sent is reported and does not block the delivery of other commands', async () => {
    await query(
      `INSERT INTO vault_secret (organization_id, key, master_key_id, wrapped_key, sealed) VALUES ($1, 'LOST', 'gone', '', '')`,
      [organizationId],
    );
    const sealed = await insertCommands(100, { deadline: '1 hour', vaultKeys: ['LOST'] });
    await query('UPDATE agent_command SET next_push_at = now() - interval $$1 minute$$');
    await insertCommands(5, { deadline: '1 hour' });
    const round = new Round('test');
    const delivery = harness.app.nest.get(CommandDelivery, { strict: false });
    expect(await delivery.deliverDueCommands(round)).toMatchObject({ looked: 105, postponed: 5 });
    expect(round.failed).toBe(100);
    expect(sealed.map((id) => `command ${id}`)).toContain(round.failures[0]!.row);
    expect(round.failures[0]!.error).toBe('its secrets cannot be decrypted');
    await query('DELETE FROM agent_command');
  });

  it('a full batch of failed orders is reported by a later round of the sweep and does not block other orders', async () => {
    const agents: string[] = [];
    for (let one = 0; one < 230; one += 1) {
      const input = { organizationId, name: `Stopping ${one}`, provider: 'http', status: 'stopping' } as const;
      agents.push((await makeAgent(harness.db, input)).id);
    }
    await query(
      `INSERT INTO agent_control (agent_id, organization_id, status, status_since, attempt, next_try_at)
       SELECT id, organization_id, status, status_since, 1, now() - interval '1 hour' FROM agent WHERE id = ANY($1)`,
      [agents],
    );
    await makeUpdatesFail('agent_control', 'true');
    const machines = harness.app.nest.get(MachineControl, { strict: false });
    const control = jest.spyOn(machines, 'executeOrder');
    const cursors = new Map<string, unknown>();
    const reported: string[] = [];
    await waitFor('an attempt for each agent', async () => {
      const round = new Round('test', { cursors });
      await machines.startAllDueWork(round);
      for (const { row, error } of round.failures) reported.push(`${row}: ${error}`);
      const tried = new Set(control.mock.calls.map(([id]) => id));
      return reported.length > 0 && agents.every((id) => tried.has(id));
    });
    expect(agents.map((id) => `agent ${id}: the row is broken`)).toEqual(
      expect.arrayContaining([reported[0], reported.at(-1)]),
    );
    await machines.waitUntilIdle();
  });
});
