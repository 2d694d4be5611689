import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import {
  runBehindLock,
  runBesideLock,
  type Harness,
  makeOrganization,
  makeUser,
  startHarness,
  testMasterKey,
} from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { startTotp, rewrapSecondFactors } from './second-factors';

describe('authenticator apps', () => {
  let harness: Harness;
  const keyRing = KeyRing.parseKeyRing(testMasterKey);

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a second setup does not replace an authenticator app that is confirmed while the setup waits', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const owner = await makeUser(harness.db, { organizationId });
    const begin = () => harness.db.transaction('system', (tx) => startTotp(tx, keyRing, owner));
    await begin();
    const again = runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM app_user WHERE id = $1 FOR UPDATE', [owner.id]),
      () => [begin()],
      (tx) => tx.execute('UPDATE second_factor SET last_counter = 5 WHERE user_id = $1', [owner.id]),
    );
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
    expect(
      await harness.db.query('system', 'SELECT last_counter FROM second_factor WHERE user_id = $1', [owner.id]),
    ).toEqual([{ lastCounter: 5 }]);
  });

  it('rewrapSecondFactors does not change an authenticator app that is being replaced', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const owner = await makeUser(harness.db, { organizationId });
    await harness.db.transaction('system', (tx) => startTotp(tx, keyRing, owner));
    const after = KeyRing.parseKeyRing(`young:${Buffer.alloc(32, 9).toString('base64')},${testMasterKey}`);
    await runBesideLock(
      harness.db,
      (tx) => startTotp(tx, keyRing, owner),
      () => rewrapSecondFactors(harness.db, after),
    );
    const keys = await harness.db.query('system', 'SELECT master_key_id FROM second_factor WHERE user_id = $1', [
      owner.id,
    ]);
    expect(keys).toEqual([{ masterKeyId: keyRing.activeKey.id }]);
  });
});
