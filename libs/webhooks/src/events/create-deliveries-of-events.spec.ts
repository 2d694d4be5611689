import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { createDeliveriesOfEvents } from './create-deliveries-of-events';

describe('a webhook event that is not fanned out yet', () => {
  let harness: Harness;
  let organizationId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());
  beforeEach(async () => void ({ id: organizationId } = await makeOrganization(harness.db)));

  const queryRows = <T extends object>(sql: string, ...values: unknown[]) => harness.db.query<T>('system', sql, values);

  async function insertEvent(faults = 0): Promise<string> {
    const [{ id }] = (await queryRows<{ id: string }>(
      `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, faults)
       VALUES (gen_random_uuid(), $1, 'job.failed', gen_random_uuid(), 1, $2) RETURNING id`,
      organizationId,
      faults,
    )) as [{ id: string }];
    return id;
  }

  /** Runs one round; returns the ids of the events that it tried to read. */
  async function runDeliveryRound(isReadable: (id: string) => boolean): Promise<string[]> {
    const tried: string[] = [];
    const readSubject = async ({ id }: { id: string }) => {
      tried.push(id);
      if (!isReadable(id)) throw new Error('it cannot be read');
      return { id };
    };
    const parts = {
      ...{ database: harness.db, readSubject, notify: () => undefined, now: () => new Date() },
      evaluate: () => Promise.resolve(),
    };
    await createDeliveriesOfEvents(parts, undefined, organizationId).catch(() => undefined);
    return tried;
  }

  it('a webhook event is evaluated once, even if several processes create its deliveries at the same time', async () => {
    const id = await insertEvent();
    const evaluated: string[] = [];
    const parts = {
      ...{ database: harness.db, notify: () => undefined, now: () => new Date() },
      readSubject: (event: { id: string }) => Promise.resolve({ id: event.id }),
      evaluate: (_: unknown, event: { id: string }) => Promise.resolve(void evaluated.push(event.id)),
    };
    await Promise.all([1, 2, 3].map(() => createDeliveriesOfEvents(parts, undefined, organizationId)));
    expect(evaluated).toEqual([id]);
  });

  it('a webhook event that cannot be read is retried with growing delays, and does not delay other events', async () => {
    const bad = await insertEvent(2000);
    const good = await insertEvent();
    expect((await runDeliveryRound((id) => id !== bad)).sort()).toEqual([bad, good].sort());
    const [rests] = await queryRows<{ faults: number; seconds: number }>(
      `SELECT faults, round(extract(epoch FROM rests_until - now()))::int AS seconds FROM webhook_event WHERE id = $1`,
      bad,
    );
    expect(rests!.faults).toBe(2001);
    expect(rests!.seconds).toBeGreaterThan(540);
    const next = await insertEvent();
    expect(await runDeliveryRound(() => true)).toEqual([next]);
    await queryRows(`UPDATE webhook_event SET rests_until = now() - interval '1 second' WHERE id = $1`, bad);
    expect(await runDeliveryRound(() => true)).toEqual([bad]);
  });

  it('a webhook event is delivered only to endpoints of its organization that existed at least a microsecond before it', async () => {
    const eventId = await insertEvent();
    const { id: other } = await makeOrganization(harness.db);
    const insertEndpoint = async (offset: string, ownerId = organizationId) => {
      const [{ id }] = (await queryRows<{ id: string }>(
        `INSERT INTO webhook_endpoint (id, organization_id, url, events, enabled, created_at)
         SELECT gen_random_uuid(), $1, 'https://receiver.test/', '{*}', true, created_at + $3::interval
         FROM webhook_event WHERE id = $2 RETURNING id`,
        ownerId,
        eventId,
        offset,
      )) as [{ id: string }];
      return id;
    };
    await queryRows(
      `UPDATE webhook_event SET created_at = date_trunc('second', created_at) + interval '900 us' WHERE id = $1`,
      eventId,
    );
    const before = await insertEndpoint('-1 microseconds');
    await insertEndpoint('1 microseconds');
    await insertEndpoint('-1 microseconds', other);
    await runDeliveryRound(() => true);
    const found = await queryRows<{ endpointId: string }>(
      'SELECT endpoint_id FROM webhook_delivery WHERE event_id = $1',
      eventId,
    );
    expect(found).toEqual([{ endpointId: before }]);
  });

  it('a webhook event is not delivered to an endpoint that is turned off while the delivery’s creation waits for its row', async () => {
    const [endpoint] = await queryRows<{ id: string }>(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events)
       VALUES (gen_random_uuid(), $1, 'https://receiver.invalid/', '{*}') RETURNING id`,
      organizationId,
    );
    const eventId = await insertEvent();
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM webhook_endpoint WHERE id = $1 FOR UPDATE', [endpoint!.id]),
      () => [runDeliveryRound(() => true)],
      (tx) => tx.execute('UPDATE webhook_endpoint SET enabled = false WHERE id = $1', [endpoint!.id]),
    );
    expect(
      await queryRows('SELECT fanned_out_at IS NOT NULL AS done FROM webhook_event WHERE id = $1', eventId),
    ).toEqual([{ done: true }]);
    expect(await queryRows('SELECT FROM webhook_delivery WHERE event_id = $1', eventId)).toEqual([]);
  });
});
