import { AccessModule } from '@muster/access';
import { acquireAdvisoryLock, DatabaseModule } from '@muster/database';
import { newId } from '@muster/platform';
import { makeOrganization, type Harness, runBesideLock, startHarness } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { FakeCloud } from './fake-cloud.harness';
import { handleOrphan } from './handle-orphan';

describe('a machine without an agent', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule],
    });
  });
  afterAll(() => harness.close());

  it('a machine that another process is handling is left to that process', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const cloud = new FakeCloud();
    const found = cloud.addMachine('i-1', { organizationId, agentId: newId() });
    const location = { provider: 'ec2', name: 'here', asking: { sign: null } } as never;
    const limits = { confirmMs: 60_000, stops: true, signal: new AbortController().signal };
    const handle = () => handleOrphan(harness.db, cloud, { location, found }, limits);
    const findings = () => harness.db.query('system', 'SELECT kind FROM machine_finding');
    await runBesideLock(harness.db, (tx) => acquireAdvisoryLock(tx, 'reaper', 'ec2', 'here', 'i-1'), handle);
    expect(await findings()).toEqual([]);
    await handle();
    expect(await findings()).toEqual([{ kind: 'orphan' }]);
  });
});
