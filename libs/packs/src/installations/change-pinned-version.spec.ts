import type { Principal } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { runBehindLock, type Harness, makeInstallation, makeOrganization, startHarness } from '@muster/testing';
import { lockBundleOfInstallation } from '../bundle-of';
import { pinInstallation, rollBackInstallation } from './change-pinned-version';

describe('the pinned version of an installation', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('two concurrent rollbacks of a pack installation run one after the other and undo each other', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { installationId, versions } = await makeInstallation(harness.db, { organizationId, contents: ['b', 'a'] });
    const [pinned, previous] = versions.map(({ versionId }) => versionId);
    const caller = { kind: 'api_key', id: 'testkey01', organizationId } as Principal;
    const rollBack = () =>
      harness.db.transaction({ organizationId }, (tx) => rollBackInstallation(tx, caller, installationId, {}));
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM pack_installation WHERE id = $1 FOR UPDATE', [installationId]),
      () => [rollBack(), rollBack()],
    );
    const changes = await harness.db.query(
      'system',
      'SELECT from_version_id, to_version_id FROM pack_installation_move WHERE installation_id = $1 ORDER BY moved_at, id',
      [installationId],
    );
    expect(changes).toEqual([
      { fromVersionId: pinned, toVersionId: previous },
      { fromVersionId: previous, toVersionId: pinned },
    ]);
  });

  it('a pack installation is not pinned to a version that is archived while the pin waits for the version', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { installationId, versions } = await makeInstallation(harness.db, { organizationId, contents: ['b', 'a'] });
    const { versionId } = versions[1]!;
    const caller = { kind: 'api_key', id: 'testkey01', organizationId } as Principal;
    const pinned = runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM pack_version WHERE id = $1 FOR UPDATE', [versionId]),
      () => [
        harness.db.transaction({ organizationId }, (tx) => pinInstallation(tx, caller, installationId, { versionId })),
      ],
      (tx) => tx.execute("UPDATE pack_version SET stage = 'archived' WHERE id = $1", [versionId]),
    );
    await expect(pinned).rejects.toMatchObject({ code: 'version_not_installable' });
  });

  it('a run that is launched while its pack installation is being pinned to a new version uses the new version', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { installationId, versions } = await makeInstallation(harness.db, { organizationId, contents: ['b', 'a'] });
    const { versionId } = versions[1]!;
    const bundles = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM pack_installation WHERE id = $1 FOR UPDATE', [installationId]),
      () => [
        harness.db.transaction({ organizationId }, (tx) =>
          lockBundleOfInstallation(tx, organizationId, installationId),
        ),
      ],
      (tx) =>
        tx.execute('UPDATE pack_installation SET pinned_version_id = $2 WHERE id = $1', [installationId, versionId]),
    );
    expect(bundles).toMatchObject([{ versionId }]);
  });
});
