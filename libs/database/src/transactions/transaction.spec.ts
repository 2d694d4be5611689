import { BaseConfig } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';
import { Client } from 'pg';
import { DatabaseModule } from '../database.module';
import { OrganizationEntity } from '../entities/organization';
import type { Scope } from './scope';

describe('a transaction', () => {
  let harness: Harness;
  let scope: Scope & object;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    scope = { organizationId: (await makeOrganization(harness.db)).id };
    await makeOrganization(harness.db, { name: 'Somebody else' });
  });
  afterAll(() => harness.close());

  const readOrganizationName = async () =>
    (await harness.db.query<{ name: string }>(scope, 'SELECT name FROM organization', [], 'name'))[0]!.name;
  const readOutboxMessages = () => harness.db.query('system', 'SELECT FROM outbox');
  const rename = 'UPDATE organization SET name = $1';
  const key = { queue: 'dispatch', name: 'probe', payload: { probeId: 'p' } } as const;

  it('a transaction contains our own statements and those of TypeORM, in any order', async () => {
    await harness.db.transaction(scope, async (tx) => {
      expect(await tx.manager.find(OrganizationEntity)).toHaveLength(1);
      expect(await tx.execute(rename, ['Ours'])).toBe(1);
    });
    const undone = harness.db.transaction(scope, async (tx) => {
      await tx.execute(rename, ['First']);
      await tx.manager.update(OrganizationEntity, { id: scope.organizationId }, { name: 'Second' });
      throw new Error('changed my mind');
    });
    await expect(undone).rejects.toThrow('changed my mind');
    expect(await readOrganizationName()).toBe('Ours');
  });

  it('deferred statements run in order before the next statement, also of TypeORM, or with the commit', async () => {
    await harness.db.transaction(scope, async (tx) => {
      tx.deferStatement(rename, ['Posted']);
      expect((await tx.query<{ name: string }>('SELECT name FROM organization'))[0]!.name).toBe('Posted');
      tx.deferStatement(rename, ['Again']);
      expect((await tx.manager.find(OrganizationEntity))[0]!.name).toBe('Again');
      tx.deferStatement(rename, ['Last']);
    });
    expect(await readOrganizationName()).toBe('Last');
    await harness.db.transaction(scope, async (tx) => tx.deferStatement(rename, ['Alone']));
    expect(await readOrganizationName()).toBe('Alone');
  });

  it('a transaction stores nothing if a deferred statement fails, or if its work throws', async () => {
    const failing = harness.db.transaction(scope, async (tx) => {
      await tx.execute(rename, ['Lost']);
      tx.deferStatement('SELECT 1 / 0');
    });
    await expect(failing).rejects.toThrow(/division by zero/);
    const givenUp = harness.db.transaction(scope, async (tx) => {
      tx.deferStatement(rename, ['Lost']);
      throw new Error('changed my mind');
    });
    await expect(givenUp).rejects.toThrow('changed my mind');
    expect(await readOrganizationName()).not.toBe('Lost');
  });

  it('a transaction throws if it cannot be committed because a statement has failed', async () => {
    const swallowing = harness.db.transaction(scope, async (tx) => {
      await tx.execute(rename, ['Lost']);
      await tx.query('SELECT nonsense').catch(() => undefined);
    });
    await expect(swallowing).rejects.toThrow('nothing was committed');
    expect(await readOrganizationName()).not.toBe('Lost');
  });

  it('a transaction stores nothing if its messages cannot be written', async () => {
    // The text contains U+0000, which JSON values in Postgres cannot contain.
    const unwritable = harness.db.transaction(scope, async (tx) => {
      await tx.execute(rename, ['Lost']);
      await tx.enqueue({ ...key, payload: { probeId: '\0' } });
    });
    await expect(unwritable).rejects.toThrow(/Unicode/);
    expect(await readOrganizationName()).not.toBe('Lost');
    expect(await readOutboxMessages()).toEqual([]);
  });

  it('a transaction writes a conditional message only if the condition holds after all its statements', async () => {
    const isNamed = {
      name: 'if_named',
      columns: { name: 'text' },
      holds: 'LATERAL (SELECT FROM organization WHERE name = input.name LIMIT 1) named',
    };
    await harness.db.transaction(scope, async (tx) => {
      tx.enqueueIf(isNamed, ['Nobody'], key);
      tx.enqueueIf(isNamed, ['Conditional'], { ...key, payload: { probeId: 'kept' } });
      tx.deferStatement(rename, ['Conditional']);
    });
    expect(await harness.db.query('system', 'SELECT payload FROM outbox')).toEqual([{ payload: { probeId: 'kept' } }]);
    await harness.db.query('system', 'DELETE FROM outbox');
  });

  it('a transaction deletes the message that it handles with its commit, and keeps the message after a rollback', async () => {
    const handleMessage = (message: { id: string; isSettled: boolean }, work: () => void = () => undefined) =>
      harness.db.transaction('system', async (tx) => {
        tx.markMessageHandled(message);
        tx.allowUnflushedCommit();
        await tx.execute(rename, ['Handled']);
        work();
      });
    await harness.db.transaction(scope, (tx) => tx.enqueue(key));
    const [row] = await harness.db.query<{ id: string }>('system', 'SELECT id FROM outbox');
    const message = { id: row!.id, isSettled: false };
    const failing = handleMessage(message, () => {
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect([message.isSettled, (await readOutboxMessages()).length]).toEqual([false, 1]);
    await handleMessage(message);
    expect([message.isSettled, await readOutboxMessages()]).toEqual([true, []]);
  });

  it('a transaction or a single statement runs again after a deadlock', async () => {
    const lockKeys = 'SELECT pg_advisory_xact_lock($1)';
    let meet!: () => void;
    const met = new Promise<void>((resolve) => (meet = resolve));
    const first = harness.db.transaction('system', async (tx) => {
      await tx.query(lockKeys, [1]);
      meet();
      await tx.query('SELECT pg_sleep(0.3)');
      await tx.query(lockKeys, [2]);
    });
    await met;
    const second = harness.db.query(
      'system',
      'SELECT pg_advisory_xact_lock(n) FROM (SELECT n, pg_sleep(0) FROM (VALUES (2), (1)) v (n)) o',
    );
    await expect(Promise.all([first, second])).resolves.toHaveLength(2);
  });

  it('a transaction that fails leaves its connection usable and without a scope', async () => {
    for (let i = 0; i < 20; i += 1) {
      const failing = harness.db.transaction(scope, (tx) => tx.query('SELECT 1 / 0'));
      await expect(failing).rejects.toThrow(/division by zero/);
    }
    expect(await harness.db.query({ organizationId: '' }, 'SELECT FROM organization')).toEqual([]);
  });

  it('a statement is prepared again when its table has changed', async () => {
    const readAllProbes = () =>
      harness.db.transaction('system', (tx) => tx.query('SELECT * FROM queue_probe', [], 'all_probes'));
    expect(await readAllProbes()).toEqual([]);
    await executeSql(harness.databaseUrl, 'ALTER TABLE queue_probe ADD COLUMN extra text');
    for (let i = 0; i < 10; i += 1) await readAllProbes().catch(() => undefined);
    expect(await readAllProbes()).toEqual([]);
  });

  it('a statement has one plan per role, so that it is not planned again when the role changes', async () => {
    for (const each of [scope, 'system', scope, 'system'] as const) {
      await harness.db.query(each, 'SELECT count(*) FROM organization', [], 'of_both');
    }
    const rows = await harness.db.query<{ name: string; calls: number }>(
      'system',
      `SELECT name, (generic_plans + custom_plans)::int AS calls FROM pg_prepared_statements WHERE name LIKE 'of_both%' ORDER BY 1`,
    );
    expect(rows).toEqual([
      { name: 'of_both', calls: 2 },
      { name: 'of_both@system', calls: 2 },
    ]);
  });
});

async function executeSql(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
