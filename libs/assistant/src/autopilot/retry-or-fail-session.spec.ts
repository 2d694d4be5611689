import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import {
  runBehindLock,
  runBesideLock,
  type Harness,
  makeAgent,
  makeOrganization,
  startHarness,
  testMasterKey,
} from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { retryOrFailSession } from './retry-or-fail-session';
import { sweepSessions } from './steps/sweep-sessions';

describe('an autopilot session', () => {
  let harness: Harness;
  const keyRing = KeyRing.parseKeyRing(testMasterKey);

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  const sql = (text: string, ...values: unknown[]) => harness.db.query('system', text, values);
  async function insertSession() {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    const id = newId();
    await sql(
      `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, max_steps, max_attempts,
         max_active_ms, max_cost_micros, approve)
       VALUES ($1, $2, $3, 'running', 'look', '{"kind":"api_key","id":"testkey01"}', 10, 3, 60000, 1000000, 'never')`,
      ...[id, organizationId, agentId],
    );
    return { id };
  }

  it('an autopilot session stays ended if it ends while its retry waits for the lock on its row', async () => {
    const { id } = await insertSession();
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM autopilot_session WHERE id = $1 FOR UPDATE', [id]),
      () => [retryOrFailSession({ database: harness.db, keyRing }, id)],
      (tx) => tx.execute("UPDATE autopilot_session SET phase = 'over', status = 'cancelled' WHERE id = $1", [id]),
    );
    expect(await sql('SELECT phase, status, faults FROM autopilot_session WHERE id = $1', id)).toEqual([
      { phase: 'over', status: 'cancelled', faults: 0 },
    ]);
  });

  it('no message is enqueued for an autopilot session that is ending', async () => {
    const { id } = await insertSession();
    await sql('UPDATE autopilot_session SET due_at = muster_now() WHERE id = $1', id);
    await runBesideLock(
      harness.db,
      (tx) => tx.execute("UPDATE autopilot_session SET phase = 'over', due_at = NULL WHERE id = $1", [id]),
      () => sweepSessions(harness.db),
    );
    expect(await sql('SELECT ring_at FROM autopilot_session WHERE id = $1', id)).toEqual([{ ringAt: null }]);
  });
});
