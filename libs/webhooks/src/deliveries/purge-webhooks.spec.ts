import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId, Round } from '@muster/platform';
import { type Harness, makeOrganization, runBesideLock, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { claimDelivery } from './claim-delivery';
import { purgeWebhooks } from './purge-webhooks';
import { rewrapWebhookSecrets } from '../endpoints/rewrap-secrets';
import { decryptSecrets } from '../endpoints/seal-secret';
import { createEndpoint } from '../endpoints/save-endpoint';

const dayMs = 86_400_000;
const now = new Date();
const getTimeDaysAgo = (days: number) => new Date(now.getTime() - days * dayMs);

describe('the retention of webhook data', () => {
  let harness: Harness;
  let organizationId: string;
  let endpointId: string;
  let secret: string;
  const keyRing = KeyRing.parseKeyRing(testMasterKey);

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    organizationId = (await makeOrganization(harness.db)).id;
    const caller = { kind: 'system', id: 'test', organizationId } as never;
    const body = { url: 'https://example.com/', events: ['*'] };
    const created = await harness.db.transaction({ organizationId }, (tx) => createEndpoint(tx, keyRing, caller, body));
    endpointId = created.row.id;
    secret = created.secret;
  });
  afterAll(() => harness.close());

  const sql = (text: string, ...values: unknown[]) => harness.db.query<any>('system', text, values);
  const insertEvent = async (at: Date, once: string | null = null) => {
    const id = newId();
    await sql(
      `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, once, body, fanned_out_at, created_at)
       VALUES ($1, $2, 'job.completed', $1, 1, $3, '{}', $4, $4)`,
      ...[id, organizationId, once, at],
    );
    await sql(
      `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, due_at, created_at)
       VALUES ($1, $2, $3, $1, 'job.completed', $4, $4)`,
      ...[id, organizationId, endpointId, at],
    );
    await sql(
      `INSERT INTO webhook_attempt (delivery_id, number, organization_id, at, duration_ms) VALUES ($1, 1, $2, $3, 1)`,
      ...[id, organizationId, at],
    );
  };
  const countLeftRows = async () => {
    const [row] = await sql(`SELECT (SELECT count(*)::int FROM webhook_event) AS events,
      (SELECT count(*)::int FROM webhook_delivery) AS deliveries, (SELECT count(*)::int FROM webhook_attempt) AS attempts`);
    return row;
  };

  it('webhook deliveries are deleted after 30 days, and events that are emitted once a month after 62 days', async () => {
    await insertEvent(getTimeDaysAgo(29));
    await insertEvent(getTimeDaysAgo(31));
    await insertEvent(getTimeDaysAgo(31), 'limit.near monthlyRunLimit');
    await insertEvent(getTimeDaysAgo(63), 'limit.reached monthlyRunLimit');
    expect(await countLeftRows()).toEqual({ events: 4, deliveries: 4, attempts: 4 });
    expect(await purgeWebhooks(harness.db, new Round('purge'), now)).toEqual({ deliveries: 3, events: 2, secrets: 0 });
    expect(await countLeftRows()).toEqual({ events: 2, deliveries: 1, attempts: 1 });
  });

  it('a webhook secret stays readable after it is rewrapped with a new master key', async () => {
    const after = KeyRing.parseKeyRing(`young:${Buffer.alloc(32, 9).toString('base64')},${testMasterKey}`);
    const beside = await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM webhook_secret FOR UPDATE'),
      () => rewrapWebhookSecrets(harness.db, after),
    );
    expect(beside).toEqual({ looked: 1, rewrapped: 0 });
    expect(await rewrapWebhookSecrets(harness.db, after)).toEqual({ looked: 1, rewrapped: 1 });
    expect(await rewrapWebhookSecrets(harness.db, after)).toEqual({ looked: 0, rewrapped: 0 });
    const claimed = await claimDelivery(harness.db, endpointId, now);
    expect(decryptSecrets(after, claimed!)).toEqual([secret]);
    // No other process can claim a delivery that is claimed before its lease expires.
    expect(await claimDelivery(harness.db, endpointId, now)).toBeUndefined();
    const again = await claimDelivery(harness.db, endpointId, new Date(now.getTime() + 30_001));
    expect(again).toMatchObject({ id: claimed!.id });
  });
});
