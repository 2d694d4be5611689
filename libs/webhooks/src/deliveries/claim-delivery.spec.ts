import { BaseConfig } from '@muster/platform';
import { DatabaseModule } from '@muster/database';
import { runBesideLock, type Harness, makeOrganization, readPlans, startHarness } from '@muster/testing';
import { claimDelivery, countDueDeliveries, listEndpointsWithDueDeliveries } from './claim-delivery';

const backlog = 20_000;

describe('pending deliveries of a webhook endpoint', () => {
  let harness: Harness;
  let organizationId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ id: organizationId } = await makeOrganization(harness.db));
  });
  afterAll(() => harness.close());

  const queryRows = <T extends object>(sql: string, ...values: unknown[]) => harness.db.query<T>('system', sql, values);

  async function insertEndpoint({ enabled, pending }: { enabled: boolean; pending: number }): Promise<string> {
    const [{ id }] = (await queryRows<{ id: string }>(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events, enabled)
       VALUES (gen_random_uuid(), $1, 'https://receiver.test/', '{*}', $2) RETURNING id`,
      organizationId,
      enabled,
    )) as [{ id: string }];
    await queryRows(
      `WITH event AS (
         INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at)
         SELECT gen_random_uuid(), $1, 'job.failed', gen_random_uuid(), n, '{}', now() FROM generate_series(1, $3::int) n
         RETURNING id)
       INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, due_at)
       SELECT gen_random_uuid(), $1, $2, id, 'job.failed', now() - interval '1 hour' FROM event`,
      organizationId,
      id,
      pending,
    );
    return id;
  }

  it('pending deliveries of an endpoint that is off are not scanned, except for redeliveries', async () => {
    const [off, on] = [
      await insertEndpoint({ enabled: false, pending: backlog }),
      await insertEndpoint({ enabled: true, pending: 3 }),
    ];
    await queryRows('ANALYZE webhook_delivery');
    await queryRows('ANALYZE webhook_endpoint');
    const now = new Date();
    const plans = await readPlans(harness.databaseUrl, async () => {
      expect(await listEndpointsWithDueDeliveries(harness.db, now)).toEqual([on]);
      expect(await countDueDeliveries(harness.db, now)).toBe(3);
      expect(await claimDelivery(harness.db, off, now)).toBeUndefined();
    });
    const looked = plans.filter(({ sql }) => sql.includes('webhook_delivery')).map((plan) => plan.looked);
    expect(looked.length).toBeGreaterThanOrEqual(3);
    for (const each of looked) expect(each).toBeLessThan(100);
    const [requested] = await queryRows<{ id: string }>(
      `UPDATE webhook_delivery SET asked = true
       WHERE id = (SELECT id FROM webhook_delivery WHERE endpoint_id = $1 LIMIT 1) RETURNING id`,
      off,
    );
    expect((await listEndpointsWithDueDeliveries(harness.db, now)).sort()).toEqual([off, on].sort());
    expect(await countDueDeliveries(harness.db, now)).toBe(4);
    expect(await claimDelivery(harness.db, off, now)).toMatchObject({ id: requested!.id, failingSince: null });
    expect(await claimDelivery(harness.db, off, now)).toBeUndefined();
    expect(await countDueDeliveries(harness.db, now)).toBe(3);
    await queryRows('UPDATE webhook_endpoint SET enabled = true WHERE id = $1', off);
    const claimed = await Promise.all(Array.from({ length: 5 }, () => claimDelivery(harness.db, off, now)));
    expect(new Set(claimed.map((each) => each!.id)).size).toBe(5);
    expect(await countDueDeliveries(harness.db, now, 100)).toBe(100);
  });

  it.each([
    ['delivery', true],
    ['redelivery of an endpoint that is off', false],
  ])('while one process claims a %s, no other process claims it', async (_, enabled) => {
    const endpointId = await insertEndpoint({ enabled, pending: 1 });
    await queryRows('UPDATE webhook_delivery SET asked = true WHERE endpoint_id = $1', endpointId);
    const claimed = await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM webhook_delivery WHERE endpoint_id = $1 FOR UPDATE', [endpointId]),
      () => claimDelivery(harness.db, endpointId, new Date()),
    );
    expect(claimed).toBeUndefined();
  });
});
