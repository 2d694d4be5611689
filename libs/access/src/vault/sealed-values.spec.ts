import { randomBytes } from 'node:crypto';
import type { SealedValue } from '@muster/contracts';
import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { type Harness, makeOrganization, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { openVariables, rewrapValueKeys, sealVariables } from './sealed-values';

describe('sealed values', () => {
  let harness: Harness;
  const parse = (text: string) => KeyRing.parseKeyRing(text);

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  const variables = { MEMBER: 'M-7731', OFFICE: 'north' };
  const seal = (keyRing: KeyRing, organizationId: string, names = ['MEMBER']) =>
    harness.db.transaction({ organizationId }, (tx) =>
      sealVariables(tx, keyRing, organizationId, { variables, names }),
    );

  it('only the named variables are sealed, and only their organization can open them', async () => {
    const keyRing = parse(testMasterKey);
    const [{ id }, { id: other }] = [await makeOrganization(harness.db), await makeOrganization(harness.db)];
    const sealed = await seal(keyRing, id);
    expect(sealed).toEqual({ MEMBER: { sealed: expect.any(String) }, OFFICE: 'north' });
    expect(JSON.stringify(sealed)).not.toContain('M-7731');
    expect(await openVariables(harness.db, keyRing, id, sealed)).toEqual({ MEMBER: 'M-7731' });
    await seal(keyRing, other);
    await expect(openVariables(harness.db, keyRing, other, sealed)).rejects.toThrow();
    const again = await seal(keyRing, id);
    expect((again['MEMBER'] as SealedValue).sealed).not.toBe((sealed['MEMBER'] as SealedValue).sealed);
  });

  it('the encryption key of an organization is not used again if the transaction that created it was rolled back', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const keyRing = parse(testMasterKey);
    const rolledBack = harness.db.transaction({ organizationId }, async (tx) => {
      await sealVariables(tx, keyRing, organizationId, { variables, names: ['MEMBER'] });
      await sealVariables(tx, keyRing, organizationId, { variables, names: ['OFFICE'] });
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    const sealed = await seal(keyRing, organizationId);
    expect(await openVariables(harness.db, parse(testMasterKey), organizationId, sealed)).toEqual({ MEMBER: 'M-7731' });
  });

  it('after a rewrap with a new master key, sealed values open without the old master key', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const sealed = await seal(parse(testMasterKey), organizationId);
    const young = `young:${randomBytes(32).toString('base64')}`;
    const { rewrapped } = await rewrapValueKeys(harness.db, parse(`${young},${testMasterKey}`));
    expect(rewrapped).toBeGreaterThanOrEqual(1);
    expect(await openVariables(harness.db, parse(young), organizationId, sealed)).toEqual({ MEMBER: 'M-7731' });
  });
});
