import type { Principal } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeInstallation, makeOrganization, startHarness } from '@muster/testing';
import { promoteVersion } from './promote-version';

describe('promoteVersion', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a pack version stays in production if an installation is pinned to it while its return to pilot waits', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const made = await makeInstallation(harness.db, { organizationId, contents: ['b', 'a'] });
    const { packId, installationId } = made;
    const { versionId } = made.versions[1]!;
    const caller = {
      kind: 'user',
      id: newId(),
      email: 'admin@practice.example',
      role: 'admin',
      organizationId,
    } as Principal;
    const returnToPilot = () =>
      harness.db.transaction({ organizationId }, (tx) =>
        promoteVersion(tx, caller, { packId, versionId }, { stage: 'pilot' }),
      );
    const returned = runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM pack_version WHERE id = $1 FOR SHARE', [versionId]),
      () => [returnToPilot()],
      (tx) =>
        tx.execute('UPDATE pack_installation SET pinned_version_id = $2 WHERE id = $1', [installationId, versionId]),
    );
    await expect(returned).rejects.toMatchObject({ code: 'stage_in_use' });
    expect(await harness.db.query('system', 'SELECT stage FROM pack_version WHERE id = $1', [versionId])).toEqual([
      { stage: 'production' },
    ]);
  });
});
