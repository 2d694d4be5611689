import { ObjectStorage } from '@muster/storage';
import { runBehindLock, type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { makeAnyBundle, finalizeUpload, makeBundle, makePack, putDraft, uploadZip } from './bundles.harness';

describe('drafts of packs', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    otherTenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const requestDraft = (packId: string, client = tenant.as.viewer) => client.get(`/api/workflow-packs/${packId}/draft`);
  const readHeadBundleId = async (packId: string) => (await requestDraft(packId)).body.runtimeBundleId ?? null;
  const publishFromMachine = async (
    packId: string,
    baseRuntimeBundleId: string | null,
    bundle = makeAnyBundle(),
    client = tenant.worker,
  ) => {
    const uploadKey = await uploadZip(client, packId, bundle.zip);
    return finalizeUpload(client, packId, { uploadKey, baseRuntimeBundleId, files: bundle.files });
  };

  it('the process library has one pack for each of its processes, which is changed only with its current ETag', async () => {
    const unknown = await tenant.as.member.post('/api/workflow-packs', { workerKey: 'unknown' });
    expect([unknown.status, unknown.body.code]).toEqual([404, 'process_not_found']);
    expect((await tenant.as.member.put('/api/process-library/claims', { name: 'Claims' })).status).toBe(403);
    expect((await tenant.as.admin.put('/api/process-library/-claims', { name: 'Claims' })).status).toBe(400);
    await tenant.as.admin.put('/api/process-library/claims', { name: 'Claims', description: 'd' });
    const created = await tenant.as.member.post('/api/workflow-packs', { workerKey: 'claims', stageTags: ['front'] });
    expect(created).toMatchObject({
      status: 201,
      body: {
        workerKey: 'claims',
        name: 'Claims',
        description: 'd',
        stageTags: ['front'],
        draftHead: null,
        versions: [],
      },
    });
    const again = await tenant.as.member.post('/api/workflow-packs', { workerKey: 'claims', name: 'Other' });
    expect([again.status, again.body]).toEqual([200, created.body]);
    const { processes } = (await tenant.api.get('/api/process-library')).body;
    expect(processes).toContainEqual({
      workerKey: 'claims',
      name: 'Claims',
      description: 'd',
      packId: created.body.id,
    });
    expect((await tenant.api.get('/api/workflow-packs')).status).toBe(403);
    expect((await otherTenant.as.admin.get('/api/workflow-packs')).body.packs).toEqual([]);

    const path = created.headers.get('location')!;
    const etag = (await tenant.as.viewer.get(path)).headers.get('etag')!;
    const changed = await tenant.as.member.with({ 'if-match': etag }).patch(path, { stageTags: [], name: 'New' });
    expect(changed.body).toMatchObject({ name: 'New', stageTags: [] });
    expect((await tenant.as.member.with({ 'if-match': etag }).patch(path, { name: 'Newer' })).status).toBe(412);
    const listed = (await tenant.as.viewer.get('/api/workflow-packs')).body.packs[0];
    expect(listed).toMatchObject({ name: 'New', versionCount: 0, installationCount: 0 });
    expect(listed.versions).toBeUndefined();
  });

  it('the presigned URL of a pack draft returns exactly the bytes that the request contained', async () => {
    const packId = await makePack(tenant);
    expect(await requestDraft(packId)).toMatchObject({ status: 404, body: { code: 'draft_not_found' } });
    const bundle = makeAnyBundle();
    const put = await putDraft(tenant.as.member, packId, bundle);
    expect(put).toMatchObject({
      status: 200,
      body: { baseRuntimeBundleId: null, digest: bundle.digest, size: bundle.zip.length },
    });
    const read = await requestDraft(packId);
    expect(read.headers.get('etag')).toBe(put.headers.get('etag'));
    const { downloadUrl, ...draft } = read.body;
    expect({ ...put.body, downloadUrl }).toEqual({ ...draft, downloadUrl });
    expect(draft.files).toEqual([...bundle.files].sort((a, b) => (a.path < b.path ? -1 : 1)));
    expect(Buffer.from(await (await fetch(downloadUrl)).arrayBuffer())).toEqual(bundle.zip);
    expect((await requestDraft(packId, tenant.api)).status).toBe(403);

    const stale = await tenant.as.member.with({ 'if-match': '"other"' });
    expect((await putDraft(stale, packId, makeAnyBundle())).status).toBe(412);
    const same = await putDraft(tenant.as.member, packId, bundle, { baseRuntimeBundleId: draft.runtimeBundleId });
    expect(same.body.runtimeBundleId).not.toBe(draft.runtimeBundleId);
    expect(same.body).toMatchObject({ digest: bundle.digest, baseRuntimeBundleId: draft.runtimeBundleId });
    const rows = await harness.db.query('system', 'SELECT FROM pack_bundle WHERE digest = $1', [
      bundle.digest.slice(7),
    ]);
    expect(rows).toHaveLength(1);
  });

  it.each<[string, object, number, string]>([
    ['text that is not base64', { bundleBase64: 'a b=' }, 400, 'invalid_payload'],
    ['base64 for URLs', { bundleBase64: 'ab-_' }, 400, 'invalid_payload'],
    ['base64 without its padding', { bundleBase64: 'YQ' }, 400, 'invalid_payload'],
    ['more than 16 MiB', { bundleBase64: 'A'.repeat(23_770_000) }, 413, 'payload_too_large'],
    ['a file that is not a zip', { bundleBase64: 'aGVsbG8=' }, 422, 'bundle_rejected'],
    ['an inventory that does not match the zip', { files: [] }, 422, 'bundle_rejected'],
    ['an invalid digest', { files: [{ path: 'a', size: 1, sha256: 'x' }] }, 400, 'invalid_payload'],
    [
      'a base that is not the draft head',
      { baseRuntimeBundleId: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' },
      409,
      'draft_head_conflict',
    ],
  ])('a pack draft with %s is refused without a change of the draft head', async (_, more, status, code) => {
    const packId = await makePack(tenant);
    const { runtimeBundleId } = (await putDraft(tenant.as.member, packId, makeAnyBundle())).body;
    const refused = await putDraft(tenant.as.member, packId, makeAnyBundle(), more);
    expect([refused.status, refused.body.code]).toEqual([status, code]);
    expect(await readHeadBundleId(packId)).toBe(runtimeBundleId);
    if (code !== 'draft_head_conflict') return;
    expect(refused.body).toMatchObject({ ...more, currentRuntimeBundleId: runtimeBundleId });
  });

  it('the older call that publishes a pack returns a deprecation date, also if its JSON is invalid', async () => {
    const packId = await makePack(tenant);
    const path = `/api/workflow-packs/${packId}/publish-from-vm`;
    const { zip, files } = makeAnyBundle();
    const body = { bundleBase64: zip.toString('base64'), files };
    for (const client of [tenant.worker, tenant.api, tenant.as.member]) {
      const created = await client.post(path, body);
      expect(created.status).toBe(201);
      expect(created.headers.get('deprecation')).toMatch(/^@\d+$/);
      expect(new Date(created.headers.get('sunset')!).getTime()).toBeGreaterThan(Date.now());
      expect(created.headers.get('link')).toBe(`<${path}/upload>; rel="successor-version"`);
    }
    const broken = await tenant.worker.send('POST', path, '{"bundleBase64": ');
    expect([broken.status, broken.body.code]).toEqual([400, 'invalid_payload']);
    expect(broken.body).toMatchObject({ parseError: expect.stringMatching(/./), contentLength: 17 });
    expect(broken.headers.get('deprecation')).toMatch(/^@/);
    const wrong = await tenant.worker.post(path, { ...body, surprise: 1 });
    expect([wrong.status, wrong.body.parseError]).toEqual([400, undefined]);
    expect((await otherTenant.worker.post(path, body)).status).toBe(404);
    expect((await tenant.as.viewer.post(path, body)).status).toBe(403);
  });

  describe('drafts that a machine publishes', () => {
    it('a pack draft that a machine uploads directly to the object store becomes the draft head once', async () => {
      const packId = await makePack(tenant);
      const bundle = makeAnyBundle();
      const begun = await tenant.worker.post(`/api/workflow-packs/${packId}/publish-from-vm/upload`, {
        fileName: 'a.zip',
      });
      expect(begun).toMatchObject({
        status: 201,
        body: { method: 'PUT', headers: { 'content-type': 'application/zip' } },
      });
      const { uploadUrl, uploadKey, headers, expiresAt } = begun.body;
      expect(new Date(expiresAt).getTime() - Date.now()).toBeLessThanOrEqual(15 * 60_000);
      const body = { uploadKey, baseRuntimeBundleId: null, files: bundle.files };
      expect(await finalizeUpload(tenant.worker, packId, body)).toMatchObject({
        status: 409,
        body: { code: 'upload_missing' },
      });
      const putZip = (url: string, type = headers['content-type']) =>
        fetch(url, { method: 'PUT', headers: { 'content-type': type }, body: new Uint8Array(bundle.zip) });
      expect((await putZip(uploadUrl, 'text/html')).status).toBe(403);
      expect((await putZip(uploadUrl.replace('/uploads/', '/bundles/'))).status).toBe(403);
      expect((await putZip(uploadUrl)).status).toBe(200);

      const refused = await finalizeUpload(tenant.worker, packId, { ...body, files: [] });
      expect([refused.status, refused.body.errors[0].reason]).toEqual([422, 'missing_in_inventory']);
      expect(await readHeadBundleId(packId)).toBeNull();
      const done = await finalizeUpload(tenant.worker, packId, body);
      expect(done).toMatchObject({ status: 201, body: { digest: bundle.digest, baseRuntimeBundleId: null } });
      const repeated = await finalizeUpload(tenant.api, packId, body);
      expect([repeated.status, repeated.body.runtimeBundleId]).toEqual([201, done.body.runtimeBundleId]);
      const { downloadUrl } = (await requestDraft(packId)).body;
      expect(Buffer.from(await (await fetch(downloadUrl)).arrayBuffer())).toEqual(bundle.zip);

      expect((await publishFromMachine(packId, done.body.runtimeBundleId)).status).toBe(201);
      expect(await finalizeUpload(tenant.worker, packId, body)).toMatchObject({
        status: 409,
        body: { code: 'upload_used' },
      });
    });

    it('an upload key is accepted only for its own pack and organization, and for 15 minutes', async () => {
      const [packId, other] = [await makePack(tenant), await makePack(tenant)];
      const foreign = await makePack(otherTenant);
      const { zip, files } = makeAnyBundle();
      const uploadKey = await uploadZip(tenant.worker, packId, zip);
      const body = { uploadKey, baseRuntimeBundleId: null, files };
      expect(await finalizeUpload(tenant.worker, other, body)).toMatchObject({
        status: 404,
        body: { code: 'upload_not_found' },
      });
      expect(await finalizeUpload(otherTenant.worker, packId, body)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
      expect(await finalizeUpload(otherTenant.worker, foreign, body)).toMatchObject({
        status: 404,
        body: { code: 'upload_not_found' },
      });
      await harness.db.query('system', 'UPDATE pack_upload SET expires_at = now() WHERE upload_key = $1', [uploadKey]);
      expect(await finalizeUpload(tenant.worker, packId, body)).toMatchObject({
        status: 404,
        body: { code: 'upload_not_found' },
      });
    });

    it('only one of several pack drafts with one base becomes the head; the others get a conflict with both bundle ids', async () => {
      const packId = await makePack(tenant);
      for (let round = 0; round < 3; round += 1) {
        const base = await readHeadBundleId(packId);
        const bundles = [makeAnyBundle(), makeAnyBundle(), makeAnyBundle()];
        const keys = await Promise.all(bundles.map(({ zip }) => uploadZip(tenant.worker, packId, zip)));
        const answers = await runBehindLock(
          harness.db,
          (tx) => tx.query('SELECT FROM workflow_pack WHERE id = $1 FOR UPDATE', [packId]),
          () =>
            bundles.map(({ files }, at) =>
              finalizeUpload(tenant.worker, packId, { uploadKey: keys[at]!, baseRuntimeBundleId: base, files }),
            ),
        );
        expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
        const won = answers.find(({ status }) => status === 201)!.body.runtimeBundleId;
        expect(await readHeadBundleId(packId)).toBe(won);
        for (const { body } of answers.filter(({ status }) => status === 409)) {
          expect(body).toMatchObject({
            code: 'draft_head_conflict',
            baseRuntimeBundleId: base,
            currentRuntimeBundleId: won,
          });
        }
      }
    });

    it('concurrent requests that finalize the same upload get the same draft', async () => {
      const packId = await makePack(tenant);
      const { zip, files } = makeAnyBundle();
      const body = { uploadKey: await uploadZip(tenant.worker, packId, zip), baseRuntimeBundleId: null, files };
      const answers = await Promise.all([1, 2, 3].map(() => finalizeUpload(tenant.worker, packId, body)));
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(new Set(answers.map(({ body: draft }) => draft.runtimeBundleId)).size).toBe(1);
      const rows = await harness.db.query(
        'system',
        "SELECT FROM audit_entry WHERE action = 'pack.draft' AND target_id = $1",
        [packId],
      );
      expect(rows).toHaveLength(1);
    });

    it('a pack draft is refused if its bytes are replaced in the object store after they were checked', async () => {
      const packId = await makePack(tenant);
      const [good, evil] = [makeBundle({ 'main.py': 'good' }), makeBundle({ 'main.py': 'evil' })];
      const begun = (await tenant.worker.post(`/api/workflow-packs/${packId}/publish-from-vm/upload`)).body;
      const putZipFile = (zip: Buffer) =>
        fetch(begun.uploadUrl, { method: 'PUT', headers: begun.headers, body: new Uint8Array(zip) });
      await putZipFile(good.zip);
      const storage = harness.app.nest.get(ObjectStorage);
      const copy = storage.copy.bind(storage);
      storage.copy = async (...args) => (await putZipFile(evil.zip), copy(...args));
      const body = { uploadKey: begun.uploadKey, baseRuntimeBundleId: null, files: good.files };
      try {
        expect((await finalizeUpload(tenant.worker, packId, body)).status).toBe(409);
      } finally {
        storage.copy = copy;
      }
      expect(await readHeadBundleId(packId)).toBeNull();
      const refused = await finalizeUpload(tenant.worker, packId, body);
      expect([refused.status, refused.body.errors[0].reason]).toEqual([422, 'digest_mismatch']);
    });
  });
});
