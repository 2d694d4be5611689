import type { Principal } from '@muster/access';
import { DatabaseModule, acquireAdvisoryLock } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { deleteOrganizationModel } from './organization-model';

describe('deleteOrganizationModel', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a conditional deletion of an organization’s model is rejected if the model is deleted while it waits', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    await harness.db.query(
      'system',
      `INSERT INTO organization_model (organization_id, base_url, name, api_key_vault_key)
       VALUES ($1, 'https://model.invalid/', 'm', 'KEY')`,
      [organizationId],
    );
    const caller = { kind: 'api_key', id: 'testkey01', organizationId } as Principal;
    const deleted = runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'organization_model', organizationId),
      () => [harness.db.transaction({ organizationId }, (tx) => deleteOrganizationModel(tx, caller, '"any"'))],
      (tx) => tx.execute('DELETE FROM organization_model WHERE organization_id = $1', [organizationId]),
    );
    await expect(deleted).rejects.toMatchObject({
      code: 'precondition_failed',
      message: expect.stringContaining('was removed in the meantime'),
    });
  });
});
