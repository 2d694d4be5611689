import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeOrganization, makeUser, startHarness } from '@muster/testing';
import { DatabaseModule } from '../database.module';
import type { Scope } from './scope';

describe('tenant isolation in the database', () => {
  let harness: Harness;
  let tenant: string;
  let otherTenant: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    tenant = (await makeOrganization(harness.db)).id;
    otherTenant = (await makeOrganization(harness.db)).id;
    await makeUser(harness.db, { organizationId: tenant, email: 'ours@example.com' });
    await makeUser(harness.db, { organizationId: otherTenant, email: 'theirs@example.com' });
  });
  afterAll(() => harness.close());

  it('a statement without an organization filter returns only rows of the scope’s organization', async () => {
    const scope = { organizationId: tenant };
    const forgotten = 'SELECT email FROM app_user';
    expect(await harness.db.query(scope, forgotten)).toEqual([{ email: 'ours@example.com' }]);
    expect(await harness.db.transaction(scope, (tx) => tx.query(forgotten))).toEqual([{ email: 'ours@example.com' }]);
  });

  it('a statement that filters by another organization returns no rows', async () => {
    const stolen = 'SELECT email FROM app_user WHERE organization_id = $1';
    expect(await harness.db.query({ organizationId: tenant }, stolen, [otherTenant])).toEqual([]);
  });

  it('a statement of one organization changes and deletes no rows of another organization', async () => {
    const touched = await harness.db.transaction({ organizationId: tenant }, async (tx) => [
      await tx.execute(`UPDATE app_user SET role = 'admin' WHERE organization_id = $1`, [otherTenant]),
      await tx.execute('DELETE FROM app_user WHERE organization_id = $1', [otherTenant]),
    ]);
    expect(touched).toEqual([0, 0]);
    const [row] = await harness.db.query('system', `SELECT role FROM app_user WHERE email = 'theirs@example.com'`);
    expect(row).toEqual({ role: 'member' });
  });

  it('a row for another organization cannot be written', async () => {
    const write = harness.db.query(
      { organizationId: tenant },
      `INSERT INTO vault_secret (organization_id, key, master_key_id, wrapped_key, sealed) VALUES ($1, 'K', 'k', '', '')`,
      [otherTenant],
    );
    await expect(write).rejects.toThrow(/row-level security/);
  });

  it('a row for another organization cannot be written to a table without a foreign key to the organization either', async () => {
    const tables = await harness.db.query<{ name: string }>(
      'system',
      `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'
       WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND has_table_privilege('muster_app', c.oid, 'INSERT')
         AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f'
                         AND f.confrelid = 'organization'::regclass)`,
    );
    const names = tables.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['job', 'agent_command', 'timeline_head', 'timeline_entry', 'usage_event']),
    );
    for (const name of names) {
      const write = harness.db.query({ organizationId: tenant }, `INSERT INTO ${name} (organization_id) VALUES ($1)`, [
        otherTenant,
      ]);
      await expect([name, await write.catch((error: Error) => error.message)]).toEqual([
        name,
        expect.stringMatching(/row-level security|permission denied/),
      ]);
    }
  });

  it('a statement returns no rows if no organization is set', async () => {
    expect(await harness.db.query({ organizationId: '' }, 'SELECT email FROM app_user')).toEqual([]);
  });

  it('the scope of a statement does not leak to the next statement on the same connection', async () => {
    const kinds: Scope[] = ['system', { organizationId: tenant }, { organizationId: otherTenant }];
    const scopes = Array.from({ length: 60 }, (_, i) => kinds[i % 3]!);
    const seen = await Promise.all(
      scopes.map((scope) =>
        harness.db.query<{ email: string }>(scope, 'SELECT email FROM app_user ORDER BY email', [], 'leak'),
      ),
    );
    for (const [i, rows] of seen.entries()) {
      const expected = [['ours@example.com', 'theirs@example.com'], ['ours@example.com'], ['theirs@example.com']][
        i % 3
      ];
      expect(rows.map(({ email }) => email)).toEqual(expected);
    }
  });

  it('the audit trail cannot be changed, not even in the system scope', async () => {
    for (const scope of ['system', { organizationId: tenant }] as const) {
      await expect(harness.db.query(scope, `UPDATE audit_entry SET action = 'x'`)).rejects.toThrow(/permission denied/);
      await expect(harness.db.query(scope, 'DELETE FROM audit_entry')).rejects.toThrow(/permission denied/);
    }
  });

  it('an organization sees only its own messages in the outbox, not probe messages', async () => {
    const ids = [tenant, otherTenant, null].map((organizationId) => ({ id: newId(), organizationId }));
    for (const { id, organizationId } of ids) {
      await harness.db.query(
        'system',
        `INSERT INTO outbox (id, queue, name, payload, organization_id) VALUES ($1, 'dispatch', 'probe', '{}', $2)`,
        [id, organizationId],
      );
    }
    const own = { organizationId: tenant };
    expect(await harness.db.query(own, 'SELECT id FROM outbox')).toEqual([{ id: ids[0]!.id }]);
    const changed = await harness.db.query(own, 'UPDATE outbox SET attempts = 7 RETURNING id');
    expect(changed).toEqual([{ id: ids[0]!.id }]);
    for (const statement of ['DELETE FROM outbox', `UPDATE outbox SET payload = '{}'`, 'SELECT * FROM queue_probe']) {
      await expect(harness.db.query(own, statement)).rejects.toThrow(/permission denied/);
    }
  });

  it('statements run after an earlier statement’s error was reported', async () => {
    const faulty = harness.db.query({ organizationId: tenant }, 'SELECT nonsense FROM app_user', [], 'faulty');
    await expect(faulty).rejects.toThrow(/nonsense/);
    const again = harness.db.query({ organizationId: tenant }, 'SELECT nonsense FROM app_user', [], 'faulty');
    await expect(again).rejects.toThrow(/nonsense/);
    expect(await harness.db.query({ organizationId: tenant }, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});
