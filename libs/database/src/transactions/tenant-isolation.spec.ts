import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, makeUser, makeWorkflow, startHarness } from '@muster/testing';
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

  it('a row refers only to agents, workflows and jobs of its own organization', async () => {
    const [own, other] = await Promise.all(
      [tenant, otherTenant].map(async (organizationId) => ({
        organizationId,
        agentId: (await makeAgent(harness.db, { organizationId })).id,
        workflowId: (await makeWorkflow(harness.db, { organizationId })).id,
      })),
    );
    const scope = { organizationId: tenant };
    const insertJob = ({ agentId, workflowId }: { agentId: string; workflowId: string }, id = newId()) =>
      harness.db.query(
        scope,
        `INSERT INTO job (id, organization_id, agent_id, workflow_id, workflow_revision) VALUES ($1, $2, $3, $4, 1)`,
        [id, tenant, agentId, workflowId],
      );
    const jobId = newId();
    await insertJob(own!, jobId);
    await expect(insertJob({ ...own!, agentId: other!.agentId })).rejects.toThrow(/"job_agent_fk"/);
    await expect(insertJob({ ...own!, workflowId: other!.workflowId })).rejects.toThrow(/"job_workflow_fk"/);
    const moveJob = (agentId: string) =>
      harness.db.query(scope, 'UPDATE job SET agent_id = $2 WHERE id = $1 RETURNING agent_id', [jobId, agentId]);
    await expect(moveJob(other!.agentId)).rejects.toThrow(/"job_agent_fk"/);
    expect(await moveJob(own!.agentId)).toEqual([{ agentId: own!.agentId }]);
    // The database checks a foreign key without row-level security, so these rows would exist for a key of one column.
    const foreign = { organizationId: otherTenant };
    const write = harness.db.query(foreign, 'INSERT INTO job_log_seen (job_id, organization_id) VALUES ($1, $2)', [
      jobId,
      otherTenant,
    ]);
    await expect(write).rejects.toThrow(/"job_log_seen_job_fk"/);
  });

  it('every foreign key that deletes rows with their agent, workflow or job contains the organization, if their table has no foreign key to the organization', async () => {
    const keys = await harness.db.query<{ name: string; columns: number }>(
      'system',
      `SELECT f.conname AS name, cardinality(f.conkey) AS columns FROM pg_constraint f
       JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attname = 'organization_id'
       WHERE f.contype = 'f' AND f.confdeltype = 'c' AND f.confrelid IN ('agent'::regclass, 'workflow'::regclass, 'job'::regclass)
         AND NOT EXISTS (SELECT FROM pg_constraint o WHERE o.conrelid = f.conrelid AND o.contype = 'f'
                         AND o.confrelid = 'organization'::regclass)`,
    );
    expect(keys.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['job_agent_fk', 'agent_command_job_fk', 'timeline_head_agent_fk', 'run_cost_job_fk']),
    );
    expect(keys.filter(({ columns }) => columns !== 2)).toEqual([]);
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
