import { DatabaseModule } from '@muster/database';
import { BaseConfig, Round } from '@muster/platform';
import { runBesideLock, type Harness, makeOrganization, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { Logger } from '@nestjs/common';
import { loadValueSealer, rewrapValueKeys } from './sealed-values';
import { putSecret, resolveSecrets, rewrapSecrets } from './secrets';

describe('rewrapping secrets', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    Logger.overrideLogger(false);
  });
  afterAll(() => harness.close());

  it('rewrapSecrets rewraps every secret, but reports those whose master key is lost', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const before = KeyRing.parseKeyRing(testMasterKey);
    const after = KeyRing.parseKeyRing(`young:${Buffer.alloc(32, 9).toString('base64')},${testMasterKey}`);
    const caller = { kind: 'system', id: 'test', organizationId } as never;
    for (const key of ['A', 'M', 'Z']) {
      await harness.db.transaction({ organizationId }, (tx) =>
        putSecret(tx, before, caller, key, { value: `value of ${key}` }),
      );
    }
    await harness.db.query('system', `UPDATE vault_secret SET master_key_id = 'lost' WHERE key = 'A'`);
    const round = new Round('test');
    expect(await rewrapSecrets(harness.db, after, round)).toEqual({ looked: 3, rewrapped: 2 });
    expect(round.failures).toEqual([
      { row: `secret A of organization ${organizationId}`, error: 'the master key lost is not in the ring' },
    ]);
    const { values } = await resolveSecrets(harness.db, after, organizationId, ['M', 'Z']);
    expect(values).toEqual({ M: 'value of M', Z: 'value of Z' });
    expect(await rewrapSecrets(harness.db, after)).toEqual({ looked: 1, rewrapped: 0 });
  });

  it('rewrapSecrets does not overwrite a secret that is being replaced', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const before = KeyRing.parseKeyRing(testMasterKey);
    const after = KeyRing.parseKeyRing(`young:${Buffer.alloc(32, 9).toString('base64')},${testMasterKey}`);
    const caller = { kind: 'system', id: 'test', organizationId } as never;
    await harness.db.transaction({ organizationId }, (tx) => putSecret(tx, before, caller, 'LOGIN', { value: 'old' }));
    await runBesideLock(
      harness.db,
      (tx) => putSecret(tx, before, caller, 'LOGIN', { value: 'new' }),
      () => rewrapSecrets(harness.db, after),
    );
    expect((await resolveSecrets(harness.db, after, organizationId, ['LOGIN'])).values).toEqual({ LOGIN: 'new' });
  });

  it('the key of an organization’s sealed values is rewrapped only if its row is free', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const before = KeyRing.parseKeyRing(testMasterKey);
    const after = KeyRing.parseKeyRing(`young:${Buffer.alloc(32, 9).toString('base64')},${testMasterKey}`);
    await harness.db.transaction({ organizationId }, (tx) => loadValueSealer(tx, before, organizationId));
    const rewrap = () => rewrapValueKeys(harness.db, after);
    const beside = await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM value_key WHERE organization_id = $1 FOR UPDATE', [organizationId]),
      rewrap,
    );
    expect([beside, await rewrap()]).toEqual([
      { looked: 1, rewrapped: 0 },
      { looked: 1, rewrapped: 1 },
    ]);
  });
});
