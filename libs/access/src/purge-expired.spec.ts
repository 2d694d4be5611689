import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { runBesideLock, type Harness, makeOrganization, makeUser, startHarness } from '@muster/testing';
import { purgeExpiredCredentials } from './purge-expired';

describe('purgeExpiredCredentials', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it.each([
    ['sign-in address that is being used again', 'sign_in_address', 'last_at', 'addresses'],
    ['response that is being replaced', 'idempotency_key', 'expires_at', 'idempotencyKeys'],
  ] as const)('purgeExpiredCredentials does not delete a %s', async (_, table, column, count) => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: userId } = await makeUser(harness.db, { organizationId });
    const sql = (text: string, values: unknown[]) => harness.db.query('system', text, values);
    await sql(
      `INSERT INTO sign_in_address (user_id, address, organization_id, last_at)
       VALUES ($1, '203.0.113.7', $2, muster_now() - interval '31 days')`,
      [userId, organizationId],
    );
    await sql(
      `INSERT INTO idempotency_key (organization_id, route, key, request_hash, status, body, expires_at)
       VALUES ($1, 'POST /api/jobs', 'k', 'h', 201, '{}', muster_now() - interval '1 hour')`,
      [organizationId],
    );
    const purged = await runBesideLock(
      harness.db,
      (tx) => tx.execute(`UPDATE ${table} SET ${column} = muster_now() WHERE organization_id = $1`, [organizationId]),
      () => purgeExpiredCredentials(harness.db, new Date()),
    );
    expect(purged).toMatchObject({ addresses: 1, idempotencyKeys: 1, [count]: 0 });
    await sql(`DELETE FROM ${table}`, []);
  });
});
