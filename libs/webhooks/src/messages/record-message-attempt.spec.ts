import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import type { ClaimedMessage } from './claim-message';
import { recordMessageAttempt } from './record-message-attempt';

describe('recordMessageAttempt', () => {
  let harness: Harness;
  const claimed = { endpointId: newId(), leaseId: newId() } as ClaimedMessage;
  const [eventId, deliveryId] = [newId(), newId()];
  const sql = (text: string, ...values: unknown[]) => harness.db.query<any>('system', text, values);

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    claimed.organizationId = (await makeOrganization(harness.db)).id;
    const { organizationId, endpointId, leaseId } = claimed;
    await sql(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events) VALUES ($1, $2, 'https://receiver.invalid/', '{*}')`,
      ...[endpointId, organizationId],
    );
    await sql(
      `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at)
       VALUES ($1, $2, 'job.completed', $1, 1, '{}', now())`,
      ...[eventId, organizationId],
    );
    await sql(
      `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, due_at, status, lease_id, leased_until)
       VALUES ($1, $2, $3, $4, 'job.completed', now(), 'sending', $5, now() + interval '5 minutes')`,
      ...[deliveryId, organizationId, endpointId, eventId, leaseId],
    );
  });
  afterAll(() => harness.close());

  it('the result of a message does not change a delivery that was requested again while the result was being stored', async () => {
    const sent = { outcome: 'delivered', statusCode: 250, error: null } as const;
    const now = new Date();
    const decisions = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM webhook_delivery WHERE id = $1 FOR UPDATE', [deliveryId]),
      () => [recordMessageAttempt(harness.db, claimed, { sent, at: now, durationMs: 1 }, { now, chance: 0 })],
      (tx) =>
        tx.execute(
          `UPDATE webhook_delivery SET status = 'pending', tries = 0, lease_id = NULL, leased_until = NULL WHERE id = $1`,
          [deliveryId],
        ),
    );
    expect(decisions).toEqual([null]);
    expect(await sql('SELECT status, tries FROM webhook_delivery WHERE id = $1', deliveryId)).toEqual([
      { status: 'pending', tries: 0 },
    ]);
    expect(await sql('SELECT FROM webhook_attempt WHERE delivery_id = $1', deliveryId)).toEqual([]);
  });

  it('a delivered message clears the failure of its channel, even if the failure is stored while the result waits', async () => {
    await sql(
      `UPDATE webhook_delivery SET status = 'sending', lease_id = $2 WHERE id = $1`,
      ...[deliveryId, claimed.leaseId],
    );
    const sent = { outcome: 'delivered', statusCode: 250, error: null } as const;
    const now = new Date();
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM webhook_endpoint WHERE id = $1 FOR UPDATE', [claimed.endpointId]),
      () => [recordMessageAttempt(harness.db, claimed, { sent, at: now, durationMs: 1 }, { now, chance: 0 })],
      (tx) =>
        tx.execute('UPDATE webhook_endpoint SET failing_since = muster_now() WHERE id = $1', [claimed.endpointId]),
    );
    expect(await sql('SELECT failing_since FROM webhook_endpoint WHERE id = $1', claimed.endpointId)).toEqual([
      { failingSince: null },
    ]);
  });
});
