import { acquireAdvisoryLock, DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { type Harness, makeOrganization, runBesideLock, startHarness } from '@muster/testing';
import { audit } from '../audit';
import { linkNewAuditRows } from './link-rows';

describe('the chain of the audit log', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('new rows are left to the process that is linking rows, and are linked once', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    await harness.db.transaction({ organizationId }, (tx) => {
      const actor = { kind: 'system', id: 'test', organizationId } as const;
      audit(tx, actor, { action: 'test.note', target: { type: 'test', id: 'a' } });
      return Promise.resolve();
    });
    const link = () => linkNewAuditRows(harness.db);
    const beside = await runBesideLock(harness.db, (tx) => acquireAdvisoryLock(tx, 'audit chain', 'audit'), link);
    expect([beside, await link(), await link()]).toEqual([{ linked: 0 }, { linked: 1 }, { linked: 0 }]);
  });
});
