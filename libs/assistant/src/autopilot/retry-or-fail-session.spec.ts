import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { behindLock, type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { retryOrFailSession } from './retry-or-fail-session';

describe('retryOrFailSession', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a session that ends while its retry waits for the row stays ended', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, max_steps, max_attempts,
         max_active_ms, max_cost_micros, approve)
       VALUES ($1, $2, $3, 'running', 'look', '{"kind":"api_key","id":"testkey01"}', 10, 3, 60000, 1000000, 'never')`,
      [id, organizationId, agentId],
    );
    await behindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM autopilot_session WHERE id = $1 FOR UPDATE', [id]),
      () => [retryOrFailSession(harness.db, id)],
      (tx) => tx.execute("UPDATE autopilot_session SET phase = 'over', status = 'cancelled' WHERE id = $1", [id]),
    );
    expect(
      await harness.db.query('system', 'SELECT phase, status, faults FROM autopilot_session WHERE id = $1', [id]),
    ).toEqual([{ phase: 'over', status: 'cancelled', faults: 0 }]);
  });
});
