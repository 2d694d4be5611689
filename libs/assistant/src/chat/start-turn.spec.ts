import type { Principal } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeAgent, makeOrganization, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { startTurn } from './start-turn';
import { endToolCall, endTurn, insertToolCall, saveTurnTexts } from './turn-rows';

describe('startTurn', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('if two messages wait for the same chat session, one starts a turn and the other is rejected', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    const parts = {
      database: harness.db,
      clock: { now: () => new Date() },
      keyRing: KeyRing.parseKeyRing(testMasterKey),
    };
    const caller = { kind: 'api_key', id: 'testkey01', role: 'member', organizationId } as Principal;
    const begin = (message: string, sessionId?: string) => startTurn(parts, caller, agentId, { message, sessionId });
    const { sessionId } = await begin('first');
    await harness.db.query('system', "UPDATE chat_turn SET status = 'done' WHERE session_id = $1", [sessionId]);
    const outcomeOf = (message: string) =>
      begin(message, sessionId).then(
        () => 'begun',
        ({ code }: { code: string }) => code,
      );
    const outcomes = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM chat_session WHERE id = $1 FOR UPDATE', [sessionId]),
      () => [outcomeOf('second'), outcomeOf('third')],
    );
    expect(outcomes.sort()).toEqual(['begun', 'conflict']);
  });

  it('a chat turn and a tool call that have ended keep their outcome when a late outcome arrives', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    const parts = {
      database: harness.db,
      clock: { now: () => new Date() },
      keyRing: KeyRing.parseKeyRing(testMasterKey),
    };
    const caller = { kind: 'api_key', id: 'testkey01', role: 'member', organizationId } as Principal;
    const { sessionId, turnId } = await startTurn(parts, caller, agentId, { message: 'first' });
    const call = {
      id: newId(),
      organizationId,
      sessionId,
      turnId,
      round: 1,
      place: 0,
      modelKey: 'k',
      tool: 'list_runs',
    };
    await insertToolCall(harness.db, { ...call, arguments: {}, status: 'running' });
    await endToolCall(harness.db, call, { status: 'done', result: { runs: 2 } });
    await endToolCall(harness.db, call, { status: 'failed', result: {}, error: 'late' });
    const turn = { organizationId, turnId };
    expect(await saveTurnTexts(harness.db, turn, ['so far'])).toBe(true);
    const usage = { inputTokens: 1, outputTokens: 2, costMicros: 3 };
    await endTurn(harness.db, turn, { ...usage, status: 'done', texts: ['answer'] });
    expect(await saveTurnTexts(harness.db, turn, ['late text'])).toBe(false);
    await endTurn(harness.db, turn, { ...usage, status: 'failed', texts: [], error: 'late', code: 'model_failed' });
    const read = (sql: string, id: string) => harness.db.query('system', sql, [id]);
    expect(await read('SELECT status, result, error FROM chat_call WHERE id = $1', call.id)).toEqual([
      { status: 'done', result: { runs: 2 }, error: null },
    ]);
    expect(await read('SELECT status, said AS texts, error, error_code FROM chat_turn WHERE id = $1', turnId)).toEqual([
      { status: 'done', texts: ['answer'], error: null, errorCode: null },
    ]);
  });

  it('the end of a turn whose process died fails its tool calls, except those that a person has decided', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    const parts = {
      database: harness.db,
      clock: { now: () => new Date() },
      keyRing: KeyRing.parseKeyRing(testMasterKey),
    };
    const caller = { kind: 'api_key', id: 'testkey01', role: 'member', organizationId } as Principal;
    const { sessionId, turnId } = await startTurn(parts, caller, agentId, { message: 'first' });
    const ids = [newId(), newId()];
    for (const [place, id] of ids.entries()) {
      const call = { id, organizationId, sessionId, turnId, round: 1, place, modelKey: 'k', tool: 'run_workflow' };
      await insertToolCall(harness.db, { ...call, arguments: {}, status: 'running' });
    }
    const sql = (text: string, values: unknown[]) => harness.db.query('system', text, values);
    await sql('UPDATE chat_call SET decided_at = muster_now() WHERE id = $1', [ids[1]]);
    await sql("UPDATE chat_turn SET beat_at = muster_now() - interval '1 hour' WHERE id = $1", [turnId]);
    await startTurn(parts, caller, agentId, { message: 'second', sessionId });
    expect(await sql('SELECT status FROM chat_call WHERE turn_id = $1 ORDER BY place', [turnId])).toEqual([
      { status: 'failed' },
      { status: 'running' },
    ]);
  });
});
