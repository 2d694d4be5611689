import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, runBesideLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { bookModelCallCost } from './book-model-call-cost';
import { markLostCalls } from './mark-lost-calls';

describe('model calls', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('the cost of a model call contains the tokens that are stored while its booking waits for the row', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const sql = (text: string, ...values: unknown[]) => harness.db.query('system', text, values);
    await sql(
      `INSERT INTO model_price
         (organization_id, provider_key, model_key, from_day, provider, model, input_micros, output_micros)
       VALUES ($1, 'openai', 'm', '2026-01-01', 'openai', 'm', 2000000, 0)`,
      organizationId,
    );
    const id = newId();
    await sql(
      `INSERT INTO model_call (id, organization_id, purpose, provider, model, input_tokens, at)
       VALUES ($1, $2, 'chat', 'openai', 'm', 0, '2026-03-02T09:00:00Z')`,
      ...[id, organizationId],
    );
    const booked = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM model_call WHERE id = $1 FOR UPDATE', [id]),
      () => [harness.db.transaction('system', (tx) => bookModelCallCost(tx, id))],
      (tx) => tx.execute('UPDATE model_call SET input_tokens = 1000000 WHERE id = $1', [id]),
    );
    expect(booked).toEqual([{ totalMicros: 2_000_000, changed: true }]);
  });

  it('a model call is not marked as lost while its result is being stored', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO model_call (id, organization_id, purpose, provider, model, outcome, at)
       VALUES ($1, $2, 'chat', 'openai', 'm', 'open', muster_now() - interval '2 hours')`,
      [id, organizationId],
    );
    await runBesideLock(
      harness.db,
      (tx) => tx.execute("UPDATE model_call SET outcome = 'answered' WHERE id = $1", [id]),
      () => markLostCalls(harness.db),
    );
    expect(await harness.db.query('system', 'SELECT outcome FROM model_call WHERE id = $1', [id])).toEqual([
      { outcome: 'answered' },
    ]);
  });
});
