import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { type SessionStatusChange, sessionStatusChanges } from './autopilot-life';
import { changeSessionStatus } from './change-session-status';
import { applyCloseResult } from './end-session';
import { lockSession } from './session-row';

describe('the end of an autopilot session', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  const sql = (text: string, ...values: unknown[]) => harness.db.query<any>('system', text, values);

  /** Fails the close command of a session that is being cancelled. Returns the session's phase and its next check. */
  async function failCloseCommand(agent: { status: 'online' | 'draining'; bootedAfterMs: number }) {
    const { id: organizationId } = await makeOrganization(harness.db);
    const issued = new Date(Date.now() - 60_000);
    const { id: agentId } = await makeAgent(harness.db, {
      organizationId,
      status: agent.status,
      statusSource: 'handshake',
      statusSince: new Date(issued.getTime() + agent.bootedAfterMs),
    });
    const [id, commandId] = [newId(), newId()];
    await sql(
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, env, vault_keys, deadline, created_at)
       VALUES ($1, $2, $3, 'autopilot_close', '{}', '{}', '{}', muster_now() + interval '1 hour', $4)`,
      ...[commandId, organizationId, agentId, issued],
    );
    await sql(
      `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, max_steps, max_attempts,
         max_active_ms, max_cost_micros, approve, command_id, close_step, ending)
       VALUES ($1, $2, $3, 'running', 'close', '{"kind":"api_key","id":"testkey01"}', 10, 3, 60000, 1000000, 'never',
         $4, 3, '{"to":"cancelled","error":null,"code":null}')`,
      ...[id, organizationId, agentId, commandId],
    );
    return harness.db.transaction('system', async (tx) => {
      const session = (await lockSession(tx, id))!;
      const command = { status: 'failed' as const, output: null, error: 'no answer', code: null };
      await applyCloseResult({ tx, keyRing: KeyRing.parseKeyRing(testMasterKey), session, steps: [] }, command);
      return session.phase;
    });
  }

  it.each(['online', 'draining'] as const)(
    'a cancelled session ends without a confirmation if its machine has booted since, also while it is %s',
    async (status) => {
      expect(await failCloseCommand({ status, bootedAfterMs: 1000 })).toBe('over');
      expect(await failCloseCommand({ status, bootedAfterMs: -1000 })).toBe('close');
    },
  );

  const fromPaused = Object.entries(sessionStatusChanges).filter(([, { from }]) =>
    (from as readonly string[]).includes('paused'),
  );
  it.each(fromPaused.map(([change]) => change as SessionStatusChange))(
    'the question of a paused session is closed by the change `%s`',
    async (change) => {
      const { id: organizationId } = await makeOrganization(harness.db);
      const { id: agentId } = await makeAgent(harness.db, { organizationId });
      const [id, questionId] = [newId(), newId()];
      await sql(
        `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, max_steps, max_attempts,
           max_active_ms, max_cost_micros, approve)
         VALUES ($1, $2, $3, 'paused', 'look', '{"kind":"api_key","id":"testkey01"}', 10, 3, 60000, 1000000, 'never')`,
        ...[id, organizationId, agentId],
      );
      await sql(
        `INSERT INTO question (id, organization_id, session_id, agent_id, question_key, question, kind, expires_at)
         VALUES ($1, $2, $3, $4, 'key', 'Continue?', 'text', muster_now() + interval '1 hour')`,
        ...[questionId, organizationId, id, agentId],
      );
      await harness.db.transaction('system', async (tx) => {
        const session = (await lockSession(tx, id))!;
        await changeSessionStatus(tx, session, { change, source: 'api', reason: 'a test' });
      });
      expect(await sql('SELECT status FROM question WHERE id = $1', questionId)).toEqual([{ status: 'cancelled' }]);
    },
  );
});
