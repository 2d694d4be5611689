import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { claimDelivery } from './claim-delivery';
import { recordAttempt } from './record-attempt';

describe('recordAttempt', () => {
  let harness: Harness;
  const endpointId = newId();
  const sql = (text: string, ...values: unknown[]) => harness.db.query<any>('system', text, values);

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    const { id: organizationId } = await makeOrganization(harness.db);
    await sql(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events) VALUES ($1, $2, 'https://receiver.invalid/', '{*}')`,
      ...[endpointId, organizationId],
    );
    const eventId = newId();
    await sql(
      `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at)
       VALUES ($1, $2, 'job.completed', $1, 1, '{}', now())`,
      ...[eventId, organizationId],
    );
    await sql(
      `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, due_at)
       VALUES ($1, $2, $3, $4, 'job.completed', now() - interval '1 hour')`,
      ...[newId(), organizationId, endpointId, eventId],
    );
  });
  afterAll(() => harness.close());

  it('the result of a webhook attempt changes nothing if another process has claimed the delivery in the meantime', async () => {
    const now = new Date();
    const claimed = (await claimDelivery(harness.db, endpointId, now))!;
    const other = newId();
    const sent = { at: now, statusCode: 200, durationMs: 1, error: null };
    const decisions = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM webhook_delivery WHERE id = $1 FOR UPDATE', [claimed.id]),
      () => [recordAttempt(harness.db, claimed, sent, { now, chance: 0 })],
      (tx) => tx.execute('UPDATE webhook_delivery SET lease_id = $2 WHERE id = $1', [claimed.id, other]),
    );
    expect(decisions).toEqual([null]);
    expect(await sql('SELECT status, tries, lease_id FROM webhook_delivery WHERE id = $1', claimed.id)).toEqual([
      { status: 'pending', tries: 0, leaseId: other },
    ]);
    expect(await sql('SELECT FROM webhook_attempt WHERE delivery_id = $1', claimed.id)).toEqual([]);
  });
});
