import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId, Round } from '@muster/platform';
import {
  runBehindLock,
  runBesideLock,
  type Harness,
  makeInstallation,
  makeOrganization,
  startHarness,
} from '@muster/testing';
import { removeUnusedPackObjects } from './collect-packs';

describe('removeUnusedPackObjects', () => {
  let harness: Harness;
  let organizationId: string;
  let packId: string;
  const deleted: string[] = [];

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    deleted.length = 0;
    ({ id: organizationId } = await makeOrganization(harness.db));
    ({ packId } = await makeInstallation(harness.db, { organizationId, contents: [] }));
  });

  const digest = 'ab'.repeat(32);
  const insertBundle = () =>
    harness.db.query(
      'system',
      "INSERT INTO pack_bundle (organization_id, digest, size, touched_at) VALUES ($1, $2, 1, now() - interval '2 hours')",
      [organizationId, digest],
    );
  const draft = (id: string, replacedDaysAgo: number): [string, unknown[]] => [
    `INSERT INTO runtime_bundle
       (id, organization_id, pack_id, digest, file_count, unpacked_size, created_by, stored_at, replaced_at)
     VALUES ($1, $2, $3, $4, 1, 1, 'test', now(), now() - $5 * interval '1 day')`,
    [id, organizationId, packId, digest, replacedDaysAgo],
  ];
  const collect = () => {
    const storage = { delete: (key: string) => Promise.resolve(void deleted.push(key)) };
    return removeUnusedPackObjects({ database: harness.db, storage: storage as never }, new Round('test'), new Date());
  };

  it('the bytes of a bundle are not deleted if a draft is added while the deletion waits for the bundle', async () => {
    await insertBundle();
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM pack_bundle WHERE organization_id = $1 FOR UPDATE', [organizationId]),
      () => [collect()],
      (tx) => tx.execute(...draft(newId(), 1)),
    );
    const bundles = await harness.db.query('system', 'SELECT removing_at FROM pack_bundle WHERE organization_id = $1', [
      organizationId,
    ]);
    expect([bundles, deleted]).toEqual([[{ removingAt: null }], []]);
  });

  it('a draft is not deleted while an uncommitted transaction publishes it as a version', async () => {
    await insertBundle();
    const id = newId();
    await harness.db.query('system', ...draft(id, 31));
    await harness.db.transaction('system', async (tx) => {
      await tx.execute(
        `INSERT INTO pack_version (id, organization_id, pack_id, number, stage, runtime_bundle_id, created_by)
         VALUES ($1, $2, $3, 1, 'draft', $4, 'test')`,
        [newId(), organizationId, packId, id],
      );
      expect(await collect()).toMatchObject({ drafts: 0 });
    });
    expect(deleted).toEqual([]);
  });

  it('a draft that another transaction uses is skipped until it is free', async () => {
    await insertBundle();
    const id = newId();
    await harness.db.query('system', ...draft(id, 31));
    const isThere = async () =>
      (await harness.db.query('system', 'SELECT FROM runtime_bundle WHERE id = $1', [id])).length > 0;
    await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM runtime_bundle WHERE id = $1 FOR UPDATE', [id]),
      collect,
    );
    expect([await isThere(), deleted]).toEqual([true, []]);
    await collect();
    expect(await isThere()).toBe(false);
  });
});
