import { removeUnusedPackObjects } from '@muster/packs';
import { Round } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { makeAnyBundle, finalizeUpload, makePack, putDraft, uploadZip } from './bundles.harness';

const addDays = (count: number) => new Date(Date.now() + count * 86_400_000);
const steps = ['readObjectSize', 'read', 'copy', 'put'] as const;

describe('objects of packs in the store', () => {
  let harness: Harness;
  let tenant: Tenant;
  let storage: ObjectStorage;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    storage = harness.app.nest.get(ObjectStorage);
  });
  beforeEach(async () => {
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const collectGarbageAt = async (now: Date) => {
    const round = new Round('test');
    const counts = await removeUnusedPackObjects({ database: harness.db, storage }, round, now);
    return { ...counts, failed: round.failed };
  };
  const readHeadBundleId = async (packId: string) =>
    (await tenant.as.viewer.get(`/api/workflow-packs/${packId}/draft`)).body.runtimeBundleId ?? null;
  /** Makes each call fail like a store that refuses connections. */
  const failUnreachable = async () => {
    throw Object.assign(new Error('connect ECONNREFUSED'), { $metadata: {} });
  };
  /** Fails like a process that dies: nothing after this runs, and nothing is cleaned up. */
  const failKilled = async () => {
    throw new Error('the process is gone');
  };
  const getBundleKey = (digest: string) =>
    `packs/${tenant.organizationId}/bundles/${digest.slice('sha256:'.length)}.zip`;

  it.each(steps.flatMap((step) => [[step, 'does not answer', 503] as const, [step, 'ends the process', 500] as const]))(
    'if the object store’s operation %s %s, no part of a pack draft is stored until the same finalize is repeated',
    async (step, failure, status) => {
      const packId = await makePack(tenant);
      const { zip, files, digest } = makeAnyBundle();
      const body = { uploadKey: await uploadZip(tenant.worker, packId, zip), baseRuntimeBundleId: null, files };
      const fault = jest.spyOn(storage, step).mockImplementation(status === 503 ? failUnreachable : failKilled);
      try {
        expect((await finalizeUpload(tenant.worker, packId, body)).status).toBe(status);
      } finally {
        fault.mockRestore();
      }
      expect(await readHeadBundleId(packId)).toBeNull();
      const done = await finalizeUpload(tenant.worker, packId, body);
      expect([done.status, done.body.digest]).toEqual([201, digest]);
      // The garbage collection deletes what the failed request stored, but not what the repeated request stored.
      await collectGarbageAt(addDays(2));
      expect(await storage.readObjectSize(getBundleKey(digest))).toBe(zip.length);
      expect(await readHeadBundleId(packId)).toBe(done.body.runtimeBundleId);
      const rows = await harness.db.query('system', 'SELECT FROM runtime_bundle WHERE pack_id = $1', [packId]);
      expect(rows).toHaveLength(1);
    },
  );

  it('unused pack uploads are deleted after a day, and drafts after 30 days with bytes that no other draft needs', async () => {
    const packId = await makePack(tenant);
    const [first, version, head] = [makeAnyBundle(), makeAnyBundle(), makeAnyBundle()];
    const { uploadKey } = { uploadKey: await uploadZip(tenant.worker, packId, first.zip) };
    const old = (
      await finalizeUpload(tenant.worker, packId, { uploadKey, baseRuntimeBundleId: null, files: first.files })
    ).body;
    await putDraft(tenant.as.member, packId, version);
    await tenant.as.member.post(`/api/workflow-packs/${packId}/versions`);
    await putDraft(tenant.as.member, packId, head);
    const readStoredSizes = () =>
      Promise.all([first, version, head].map(({ digest }) => storage.readObjectSize(getBundleKey(digest))));
    const all = [first, version, head].map(({ zip }) => zip.length);
    await collectGarbageAt(addDays(0.9));
    expect(await storage.readObjectSize(uploadKey)).not.toBeNull();
    await collectGarbageAt(addDays(1.1));
    expect(await storage.readObjectSize(uploadKey)).toBeNull();
    await collectGarbageAt(addDays(29));
    expect(await readStoredSizes()).toEqual(all);
    await collectGarbageAt(addDays(31));
    expect(await readStoredSizes()).toEqual([null, all[1], all[2]]);
    expect(await storage.readObjectSize(old.manifestKey)).toBeNull();
    expect((await collectGarbageAt(addDays(365))).failed).toBe(0);
    expect(await readStoredSizes()).toEqual([null, all[1], all[2]]);
  });

  it('a bundle’s bytes stay if they are used again during their removal; a failed removal is retried', async () => {
    const packId = await makePack(tenant);
    const bundle = makeAnyBundle();
    await putDraft(tenant.as.member, packId, bundle);
    await putDraft(tenant.as.member, packId, makeAnyBundle());
    const remove = storage.delete.bind(storage);
    let publishing: Promise<{ status: number }> | undefined;
    const slow = jest.spyOn(storage, 'delete').mockImplementation(async (key) => {
      if (key !== getBundleKey(bundle.digest)) return remove(key);
      publishing = putDraft(tenant.as.member, packId, bundle);
      await new Promise((resolve) => setTimeout(resolve, 300));
      return remove(key);
    });
    await collectGarbageAt(addDays(31));
    expect((await publishing!).status).toBe(200);
    slow.mockRestore();
    expect(await storage.readObjectSize(getBundleKey(bundle.digest))).toBe(bundle.zip.length);

    await putDraft(tenant.as.member, packId, makeAnyBundle());
    const broken = jest.spyOn(storage, 'delete').mockImplementation(async (key) => {
      if (key === getBundleKey(bundle.digest)) throw new Error('gone');
      return remove(key);
    });
    await collectGarbageAt(addDays(62));
    broken.mockRestore();
    expect(await storage.readObjectSize(getBundleKey(bundle.digest))).toBe(bundle.zip.length);
    await collectGarbageAt(addDays(62.1));
    expect(await storage.readObjectSize(getBundleKey(bundle.digest))).toBeNull();
  });
});
