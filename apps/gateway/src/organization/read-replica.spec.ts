import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('DATABASE_READ_URL', () => {
  const readReplicaCounts = async ({ app }: Harness) => {
    const { values } = await app.metrics.replicaReads.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels['server'], value]));
  };

  it.each([
    ['that does not answer', () => 'postgres://nobody@127.0.0.1:1/none'],
    ['that is not a standby', (databaseUrl: string) => databaseUrl],
  ])('lists and exports are read from the primary if DATABASE_READ_URL names a server %s', async (_, getReadUrl) => {
    const first = await startHarness(gateway);
    const harness = await startHarness({
      ...gateway,
      env: { DATABASE_READ_URL: getReadUrl(first.databaseUrl) },
      database: { url: first.databaseUrl, name: '', drop: () => Promise.resolve() },
    });
    try {
      const tenant: Tenant = await harness.makeTenant();
      const admin = tenant.as.admin;
      const { body: key } = await admin.post('/api/api-keys', { name: 'a key', scope: 'api' });
      const { body: audit } = await admin.get('/api/audit');
      expect(audit.entries.map(({ target }: { target: { id: string } }) => target.id)).toContain(key.id);
      // A caller without recent writes would read from the replica.
      expect((await tenant.as.super_admin.get('/api/audit')).body).toEqual(audit);
      const { status, text } = await tenant.api.get('/api/jobs/export');
      expect({ status, lines: text.trim().split('\r\n').length }).toEqual({ status: 200, lines: 1 });
      const { replica = 0, primary = 0 } = await readReplicaCounts(harness);
      expect(replica).toBe(0);
      expect(primary).toBeGreaterThan(1);
    } finally {
      await harness.close();
      await first.close();
    }
  });
});
