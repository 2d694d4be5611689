import type { Principal } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { runBehindLock, type Harness, makeAgent, makeOrganization, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { startTurn } from './start-turn';

describe('startTurn', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('two messages that wait for the same session start one turn; the other one is rejected', async () => {
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
});
