import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, runBesideLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { claimMessage, endUnclearMessages } from './claim-message';

describe('claimMessage', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a notification message describes the first 20 of its events and counts the others', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const endpointId = newId();
    const sql = (text: string, ...values: unknown[]) => harness.db.query('system', text, values);
    await sql(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events, kind, name)
       VALUES ($1, $2, 'https://hooks.slack.com/services/x', '{*}', 'slack', 'Front desk')`,
      ...[endpointId, organizationId],
    );
    await sql(
      `WITH event AS (
         INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at)
         SELECT gen_random_uuid(), $1, 'job.failed', gen_random_uuid(), n, '{"is":"whole"}', now() FROM generate_series(1, 25) n
         RETURNING id)
       INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, due_at, recipient)
       SELECT gen_random_uuid(), $1, $2, id, 'job.failed', now() - interval '1 hour', '' FROM event`,
      ...[organizationId, endpointId],
    );
    const claimed = await claimMessage(harness.db, endpointId, new Date());
    expect(claimed).toMatchObject({ count: 25 });
    const { events } = claimed as Exclude<typeof claimed, 'later' | 'webhook' | undefined>;
    expect(events.map(({ body }) => body)).toEqual(Array.from({ length: 20 }, () => '{"is":"whole"}'));
  });

  it('a notification message that is postponed to the next minute does not change the due time of delivered ones', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const endpointId = newId();
    const sql = (text: string, ...values: unknown[]) => harness.db.query('system', text, values);
    await sql(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events, kind, name)
       VALUES ($1, $2, 'https://hooks.slack.com/services/x', '{*}', 'slack', 'Front desk')`,
      ...[endpointId, organizationId],
    );
    const due = new Date('2026-03-02T08:59:00Z');
    const sent = new Date('2026-03-02T09:00:00Z');
    for (const [status, sentAt] of [
      ['delivered', sent],
      ['pending', null],
    ] as const) {
      const eventId = newId();
      await sql(
        `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at)
         VALUES ($1, $2, 'job.failed', $1, 1, '{}', now())`,
        ...[eventId, organizationId],
      );
      await sql(
        `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, due_at, recipient, status, sent_at)
         VALUES ($1, $2, $3, $4, 'job.failed', $5, '', $6, $7)`,
        ...[newId(), organizationId, endpointId, eventId, due, status, sentAt],
      );
    }
    expect(await claimMessage(harness.db, endpointId, new Date('2026-03-02T09:00:20Z'))).toBe('later');
    const deliveries = await sql(
      'SELECT status, due_at FROM webhook_delivery WHERE endpoint_id = $1 ORDER BY status',
      endpointId,
    );
    expect(deliveries).toEqual([
      { status: 'delivered', dueAt: due },
      { status: 'pending', dueAt: new Date('2026-03-02T09:01:00Z') },
    ]);
  });

  it('a test message of a notification channel does not postpone the channel’s next message', async () => {
    const endpointId = await insertMessage();
    await harness.db.query('system', 'UPDATE webhook_delivery SET asked = true WHERE endpoint_id = $1', [endpointId]);
    expect(await claimMessage(harness.db, endpointId, new Date())).toMatchObject({ count: 1 });
    await insertMessage(endpointId);
    expect(await claimMessage(harness.db, endpointId, new Date())).toMatchObject({ count: 1 });
    await insertMessage(endpointId);
    expect(await claimMessage(harness.db, endpointId, new Date())).toBe('later');
  });

  /** Inserts a pending message, and its channel unless the channel exists; returns the channel's id. */
  async function insertMessage(existing?: string): Promise<string> {
    const [endpointId, eventId] = [existing ?? newId(), newId()];
    const sql = (text: string, ...values: unknown[]) => harness.db.query('system', text, values);
    if (!existing) {
      await sql(
        `INSERT INTO webhook_endpoint (id, organization_id, url, events, kind, name)
         VALUES ($1, $2, 'https://hooks.slack.com/services/x', '{*}', 'slack', 'Front desk')`,
        ...[endpointId, (await makeOrganization(harness.db)).id],
      );
    }
    await sql(
      `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at)
       SELECT $1, organization_id, 'job.failed', $1, 1, '{}', now() FROM webhook_endpoint WHERE id = $2`,
      ...[eventId, endpointId],
    );
    await sql(
      `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, due_at, recipient)
       SELECT $1, organization_id, id, $3, 'job.failed', now() - interval '1 hour', ''
       FROM webhook_endpoint WHERE id = $2`,
      ...[newId(), endpointId, eventId],
    );
    return endpointId;
  }

  it('only one of two processes that wait for a notification channel receives its message', async () => {
    const endpointId = await insertMessage();
    const claimNextMessage = () => claimMessage(harness.db, endpointId, new Date());
    const claims = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM webhook_endpoint WHERE id = $1 FOR UPDATE', [endpointId]),
      () => [claimNextMessage(), claimNextMessage()],
    );
    expect(claims.filter((each) => each !== undefined)).toMatchObject([{ count: 1 }]);
  });

  it('a notification message is not marked as unclear while its result is being stored', async () => {
    const endpointId = await insertMessage();
    const claimed = await claimMessage(harness.db, endpointId, new Date(Date.now() - 3_599_000));
    expect(claimed).toMatchObject({ count: 1 });
    const ended = await runBesideLock(
      harness.db,
      (tx) => tx.execute("UPDATE webhook_delivery SET status = 'delivered' WHERE endpoint_id = $1", [endpointId]),
      () => endUnclearMessages(harness.db, new Date(Date.now() - 1_800_000)),
    );
    expect(ended).toBe(0);
  });
});
