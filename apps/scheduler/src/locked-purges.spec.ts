import { purgeAlerts } from '@muster/alerts';
import { DatabaseModule, purgeOrganizationEvents, purgeQueueProbes } from '@muster/database';
import { BaseConfig, newId, Round } from '@muster/platform';
import { type Harness, makeOrganization, runBesideLock, startHarness } from '@muster/testing';
import { purgeWebhooks } from '@muster/webhooks';

/** A deletion of old rows must not wait for a transaction that uses one of them, and must not delete that row. */
describe('the deletion of old rows', () => {
  let harness: Harness;
  let organizationId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ id: organizationId } = await makeOrganization(harness.db));
  });
  afterAll(() => harness.close());

  const now = new Date();
  const round = () => new Round('test');
  const event = `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at, created_at)
    VALUES ($1, $2, 'job.completed', $1, 1, '{}', now(), now() - interval '1 year')`;
  const endpoint = `INSERT INTO webhook_endpoint (id, organization_id, url, events)
    VALUES ($1, $2, 'https://example.com/', '{*}')`;
  const purges: [table: string, inserts: string[], purge: () => Promise<Record<string, number>>][] = [
    [
      'alert',
      [
        `INSERT INTO alert (id, organization_id, rule, subject_type, subject_id, subject_name, resolved_at)
         VALUES ($1::uuid, $2, 'wake_failed', 'agent', $1::uuid::text, 'Desk', now() - interval '1 year')`,
      ],
      () => purgeAlerts(harness.db, round(), now),
    ],
    ['webhook_event', [event], () => purgeWebhooks(harness.db, round(), now)],
    [
      'webhook_delivery',
      [
        event,
        endpoint,
        `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, due_at, created_at)
         VALUES ($1, $2, $1, $1, 'job.completed', now(), now() - interval '1 year')`,
      ],
      () => purgeWebhooks(harness.db, round(), now),
    ],
    [
      'webhook_secret',
      [
        endpoint,
        `INSERT INTO webhook_secret (id, organization_id, endpoint_id, master_key_id, wrapped_key, sealed, expires_at)
         VALUES ($1, $2, $1, 'test', '', '', now() - interval '1 hour')`,
      ],
      () => purgeWebhooks(harness.db, round(), now),
    ],
    [
      'organization_event',
      [
        `INSERT INTO organization_event (organization_id, transaction_id, id, type, data, at)
         VALUES ($2, 1, $1, 'dead_letter', '{}', now() - interval '1 year')`,
      ],
      () => purgeOrganizationEvents(harness.db, { now, keepDays: 7 }, round()),
    ],
    [
      'queue_probe',
      [
        `INSERT INTO queue_probe (id, queue, requested_at, handled_at)
         SELECT $1, 'dispatch', now() - interval '1 year', now() WHERE $2::uuid IS NOT NULL`,
      ],
      () => purgeQueueProbes(harness.db, round()),
    ],
  ];

  it.each(purges)('the deletion of old rows of %s skips a row that is in use, until it is free', async (...row) => {
    const [table, inserts, purge] = row;
    const id = newId();
    for (const insert of inserts) await harness.db.query('system', insert, [id, organizationId]);
    const isThere = async () =>
      (await harness.db.query('system', `SELECT FROM ${table} WHERE id = $1`, [id])).length > 0;
    await runBesideLock(harness.db, (tx) => tx.query(`SELECT FROM ${table} WHERE id = $1 FOR UPDATE`, [id]), purge);
    expect(await isThere()).toBe(true);
    await purge();
    expect(await isThere()).toBe(false);
  });
});
