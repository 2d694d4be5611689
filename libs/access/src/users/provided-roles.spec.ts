import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { type Harness, makeOrganization, runBehindLock, startHarness } from '@muster/testing';
import { listProvidableRoles } from './provided-roles';

describe('the roles that an identity provider can give', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a role that another transaction is changing has its new permissions in the list of roles for an identity provider', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    await harness.db.query(
      'system',
      `INSERT INTO own_role (organization_id, name, permissions) VALUES ($1, 'Desk', '{runs.read}')`,
      [organizationId],
    );
    const [roles] = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM own_role WHERE organization_id = $1 FOR UPDATE', [organizationId]),
      () => [harness.db.transaction({ organizationId }, (tx) => listProvidableRoles(tx, organizationId))],
      (tx) => tx.execute(`UPDATE own_role SET permissions = '{}' WHERE organization_id = $1`, [organizationId]),
    );
    expect(roles!.at(-1)).toEqual({ role: 'Desk', ownPermissions: [] });
  });
});
