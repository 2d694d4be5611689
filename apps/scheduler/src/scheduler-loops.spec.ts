import { createApiKey, putSecret, resolveSecrets } from '@muster/access';
import { queueCatalogue } from '@muster/contracts';
import { newId } from '@muster/platform';
import {
  FakeClock,
  type Harness,
  makeOrganization,
  makeUser,
  startHarness,
  testMasterKey,
  waitFor,
} from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { Client } from 'pg';
import { schedulerConfigs } from './scheduler-configs';
import { SchedulerModule } from './scheduler.module';

describe('maintenance', () => {
  let harness: Harness;
  const clock = new FakeClock();
  const youngKey = `young:${Buffer.alloc(32, 9).toString('base64')}`;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'scheduler',
      configs: schedulerConfigs,
      modules: [SchedulerModule],
      clock,
      env: { MAINTENANCE_TICK_MS: '100', OUTBOX_SWEEP_MS: '50', MASTER_KEYS: `${youngKey},${testMasterKey}` },
    });
  });
  afterAll(() => harness.close());

  it('the scheduler sends a probe message to every queue and measures the backlog of unread queues', async () => {
    await waitFor('probe messages', async () => {
      const rows = await harness.db.query('system', 'SELECT DISTINCT queue FROM queue_probe');
      return rows.length === Object.keys(queueCatalogue).length;
    });
    await waitFor('the probe message of the scheduler’s own queue', async () => {
      const rows = await harness.db.query('system', `SELECT 1 FROM queue_probe WHERE handled_by = 'scheduler'`);
      return rows.length > 0;
    });
    await waitFor('the backlog of an app that is not running', async () =>
      /muster_queue_backlog\{queue="metering"\} [1-9]/.test(await harness.app.metrics.registry.metrics()),
    );
  });

  it('the backlog of the dispatch queue counts place-job messages, and no lease repair is counted', async () => {
    const readMetric = async (line: RegExp) => line.exec(await harness.app.metrics.registry.metrics())?.[1];
    const readBacklog = async () => Number(await readMetric(/^muster_queue_backlog\{queue="dispatch"\} (\d+)$/m));
    await waitFor('the probe message of the dispatch queue', async () => (await readBacklog()) > 0);
    const before = await readBacklog();
    await harness.db.transaction('system', (tx) =>
      tx.enqueue(
        ...Array.from({ length: 50 }, () => ({
          ...({ queue: 'dispatch', name: 'place-job' } as const),
          payload: { jobId: newId() },
        })),
      ),
    );
    await waitFor('the backlog with the messages', async () => (await readBacklog()) >= before + 50);
    expect(await readMetric(/^muster_lease_repairs_total (\d+)$/m)).toBe('0');
    await waitFor(
      'the count of runs without an agent',
      async () => (await readMetric(/^muster_runs_unplaced (\d+)$/m)) === '0',
    );
  });

  it('the scheduler deletes only expired sessions and expired idempotency keys', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const user = await makeUser(harness.db, { organizationId });
    const now = clock.now().getTime();
    const day = 24 * 3_600_000;
    const insertSession = (expiresIn: number) =>
      harness.db.query(
        'system',
        `INSERT INTO user_session (id, user_id, organization_id, secret_hash, expires_at)
         VALUES ($1, $2, $3, 'hash', $4)`,
        [newId(), user.id, organizationId, new Date(now + expiresIn)],
      );
    const insertStoredAnswer = (key: string, expiresIn: number) =>
      harness.db.query(
        'system',
        `INSERT INTO idempotency_key (organization_id, route, key, request_hash, status, body, expires_at)
         VALUES ($1, 'POST /x', $2, 'hash', 201, '{}', $3)`,
        [organizationId, key, new Date(now + expiresIn)],
      );
    await insertSession(day);
    await insertSession(-1);
    await insertStoredAnswer('valid', day);
    await insertStoredAnswer('expired', -1);
    const countRows = async (table: string) =>
      (await harness.db.query<{ n: number }>('system', `SELECT count(*)::int AS n FROM ${table}`))[0]!.n;
    await waitFor(
      'the purge',
      async () => (await countRows('user_session')) === 1 && (await countRows('idempotency_key')) === 1,
    );
    const [remaining] = await harness.db.query('system', 'SELECT key FROM idempotency_key');
    expect(remaining).toEqual({ key: 'valid' });
  });

  it('the scheduler rewraps every secret under the active master key, so that the old key can be removed', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const user = await makeUser(harness.db, { organizationId, role: 'admin' });
    const caller = {
      kind: 'user' as const,
      id: user.id,
      email: user.email,
      role: user.role,
      sessionId: '',
      organizationId,
      organizationName: '',
      organizationSuspended: false,
      homeOrganizationId: organizationId,
    };
    const before = KeyRing.parseKeyRing(testMasterKey);
    await harness.db.transaction({ organizationId }, (tx) =>
      putSecret(tx, before, caller, 'PORTAL', { value: 'hunter2' }),
    );
    await waitFor('the rewrap', async () => {
      const rows = await harness.db.query<{ masterKeyId: string }>('system', 'SELECT master_key_id FROM vault_secret');
      return rows.every(({ masterKeyId: id }) => id === 'young');
    });
    const after = KeyRing.parseKeyRing(youngKey);
    expect(await resolveSecrets(harness.db, after, organizationId, ['PORTAL', 'NONE'])).toEqual({
      values: { PORTAL: 'hunter2' },
      missing: ['NONE'],
    });
    const key = await harness.db.transaction({ organizationId }, (tx) =>
      createApiKey(tx, caller, { name: 'k', scope: 'worker' }, clock),
    );
    expect(key.secret).toMatch(/^msk_/);
  });

  it('the scheduler drops timeline partitions that are older than the retention', async () => {
    const client = new Client({ connectionString: harness.databaseUrl });
    await client.connect();
    await client.query(
      `CREATE TABLE timeline_entry_202401 PARTITION OF timeline_entry FOR VALUES FROM ('2024-01-01Z') TO ('2024-02-01Z')`,
    );
    await client.end();
    const listPartitions = () =>
      harness.db.query<{ name: string }>(
        'system',
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'timeline_entry'::regclass`,
      );
    await waitFor('the drop', async () => !(await listPartitions()).some(({ name }) => name.endsWith('202401')));
    expect((await listPartitions()).length).toBeGreaterThanOrEqual(4);
  });

  it('the scheduler measures in how many counters the usage differs from its events', async () => {
    const readDifferences = async () =>
      Number(/^muster_usage_differences (\d+)$/m.exec(await harness.app.metrics.registry.metrics())?.[1]);
    const countReconciliations = async () =>
      (await harness.db.query('system', 'SELECT FROM usage_reconciliation WHERE finished_at IS NOT NULL')).length;
    const { id: organizationId } = await makeOrganization(harness.db);
    await makeOrganization(harness.db);
    await harness.db.query(
      'system',
      `INSERT INTO usage_counter (organization_id, month, runs) VALUES ($1, '2026-01-01', 3)`,
      [organizationId],
    );
    const before = await countReconciliations();
    clock.advance(24 * 3_600_000);
    await waitFor('the comparison of the next night', async () => (await countReconciliations()) > before);
    await waitFor('its result', async () => (await readDifferences()) === 1);
  });
});
