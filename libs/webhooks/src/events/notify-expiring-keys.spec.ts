import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeApiKey, makeOrganization, startHarness } from '@muster/testing';
import { notifyExpiringKeys } from './notify-expiring-keys';

const dayMs = 86_400_000;
const now = new Date();
const getTimeInDays = (days: number) => new Date(now.getTime() + days * dayMs);

describe('expiring API keys', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  const querySql = (text: string, ...values: unknown[]) => harness.db.query<any>('system', text, values);
  const makeKey = async (organizationId: string, expires: number | null, created = -100) => {
    const { id } = await makeApiKey(harness.db, { organizationId, scope: 'api' });
    const times = [expires === null ? null : getTimeInDays(expires), getTimeInDays(created)];
    await querySql('UPDATE api_key SET expires_at = $2, created_at = $3 WHERE id = $1', id, ...times);
    return id;
  };
  const makeSubscribedOrganization = async (events = ['api_key.expiring']) => {
    const { id: organizationId } = await makeOrganization(harness.db);
    await querySql(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events) VALUES ($1, $2, 'http://receiver.invalid/', $3)`,
      ...[newId(), organizationId, events],
    );
    return organizationId;
  };
  const eventsOf = async (organizationId: string) =>
    (
      await querySql(
        `SELECT details->>'apiKeyId' AS id, details->>'daysLeft' AS days FROM webhook_event
         WHERE organization_id = $1 AND type = 'api_key.expiring' ORDER BY sequence`,
        organizationId,
      )
    ).map(({ id, days }: { id: string; days: string }) => `${id} ${days}`);

  it('an event is emitted 14 days and one day before an API key expires, once each', async () => {
    const organizationId = await makeSubscribedOrganization();
    const id = await makeKey(organizationId, 14.5);
    const notifyInDays = (days: number) => notifyExpiringKeys(harness.db, getTimeInDays(days));
    expect((await notifyInDays(0)).emitted).toBe(0);
    await Promise.all([notifyInDays(0.6), notifyInDays(0.6)]);
    await notifyInDays(5);
    expect(await eventsOf(organizationId)).toEqual([`${id} 14`]);
    expect((await notifyInDays(13)).looked).toBe(0);
    await notifyInDays(13.6);
    await notifyInDays(14);
    expect(await eventsOf(organizationId)).toEqual([`${id} 14`, `${id} 1`]);
    const [row] = await querySql('SELECT details FROM webhook_event WHERE organization_id = $1', organizationId);
    expect(row.details).toMatchObject({
      name: expect.any(String),
      scope: 'api',
      expiresAt: getTimeInDays(14.5).toISOString(),
    });
    expect((await notifyInDays(15)).looked).toBe(0);
  });

  it('no event is emitted for an API key that never expires, is too new, expired or revoked', async () => {
    const organizationId = await makeSubscribedOrganization();
    await makeKey(organizationId, null);
    await makeKey(organizationId, -1);
    await makeKey(organizationId, 7, 0);
    const late = await makeKey(organizationId, 0.5);
    await querySql('DELETE FROM api_key WHERE id = $1', await makeKey(organizationId, 3));
    const uninterested = await makeSubscribedOrganization(['job.failed']);
    await makeKey(uninterested, 3);
    await notifyExpiringKeys(harness.db, now);
    expect(await eventsOf(organizationId)).toEqual([`${late} 1`]);
    expect(await eventsOf(uninterested)).toEqual([]);
  });

  it('no event is emitted for an API key that is revoked while the notification waits for its row', async () => {
    const organizationId = await makeSubscribedOrganization();
    const id = await makeKey(organizationId, 3);
    await runBehindLock(
      harness.db,
      (tx) => tx.query('DELETE FROM api_key WHERE id = $1', [id]),
      () => [notifyExpiringKeys(harness.db, now)],
    );
    expect(await eventsOf(organizationId)).toEqual([]);
  });
});
