import { newId } from '@muster/platform';
import { type Harness, type HttpClient, makeAgent, makeApiKey, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { makeAnyBundle, finalizeUpload, makePack, uploadZip } from './bundles.harness';

describe('worker keys and upload URLs at the routes of packs', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;
  let packId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    [tenant, otherTenant] = [await harness.makeTenant(), await harness.makeTenant()];
  });
  beforeEach(async () => {
    packId = await makePack(tenant);
  });
  afterAll(() => harness.close());

  const createBoundKeyClient = async ({ organizationId }: Tenant): Promise<HttpClient> => {
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: newId() });
    return harness.http.withKey((await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId })).secret);
  };
  /** Returns everything about packs that a request can change. */
  const readStoredRows = async () => {
    const rows: unknown[] = [];
    for (const table of ['workflow_pack', 'pack_upload', 'pack_bundle', 'runtime_bundle']) {
      rows.push(
        await harness.db.query('system', `SELECT to_jsonb(t) AS row FROM ${table} t ORDER BY to_jsonb(t)::text`),
      );
    }
    return rows;
  };
  const getPackPath = (id: string) => `/api/workflow-packs/${id}`;
  const uploadUrlOf = async () =>
    (await tenant.worker.post(`${getPackPath(packId)}/publish-from-vm/upload`)).body as {
      uploadUrl: string;
      uploadKey: string;
      headers: Record<string, string>;
    };

  it('a worker key of another organization cannot publish to a pack, not even with an upload of that pack', async () => {
    const { zip, files } = makeAnyBundle();
    const uploadKey = await uploadZip(tenant.worker, packId, zip);
    const ownPackId = await makePack(otherTenant);
    const before = await readStoredRows();
    for (const client of [otherTenant.worker, await createBoundKeyClient(otherTenant)]) {
      const base = { baseRuntimeBundleId: null, files };
      const refused = [
        await client.post(`${getPackPath(packId)}/publish-from-vm/upload`),
        await finalizeUpload(client, packId, { uploadKey, ...base }),
        await client.post(`${getPackPath(packId)}/publish-from-vm`, { bundleBase64: zip.toString('base64'), files }),
        // This request names the other organization's upload and a pack of the worker's own organization.
        await finalizeUpload(client, ownPackId, { uploadKey, ...base }),
      ];
      expect(refused.map(({ status, body }) => [status, body.code])).toEqual([
        [404, 'not_found'],
        [404, 'not_found'],
        [404, 'not_found'],
        [404, 'upload_not_found'],
      ]);
    }
    expect(await readStoredRows()).toEqual(before);
  });

  it('a worker key that is bound to an agent publishes to the packs of its organization', async () => {
    const { zip, files } = makeAnyBundle();
    const bound = await createBoundKeyClient(tenant);
    const uploadKey = await uploadZip(bound, packId, zip);
    expect((await finalizeUpload(bound, packId, { uploadKey, baseRuntimeBundleId: null, files })).status).toBe(201);
  });

  it('a worker key can call no route of packs except the three that publish a draft', async () => {
    const { zip, files } = makeAnyBundle();
    const path = getPackPath(packId);
    const before = await readStoredRows();
    for (const client of [tenant.worker, await createBoundKeyClient(tenant), otherTenant.worker]) {
      const refused = [
        await client.get('/api/workflow-packs'),
        await client.get(path),
        await client.patch(path, { name: 'New' }),
        await client.get(`${path}/draft`),
        await client.put(`${path}/draft`, { bundleBase64: zip.toString('base64'), files }),
        await client.post(`${path}/versions`),
        await client.get(`${path}/versions`),
        await client.post(`${path}/versions/${newId()}/promote`, { stage: 'archived' }),
        await client.get(`${path}/versions/${newId()}/export`),
        await client.get(`${path}/versions/${newId()}/diff?from=${newId()}`),
      ];
      expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
    }
    expect(await readStoredRows()).toEqual(before);
  });

  it('the upload URL of a bundle is refused for another object and another content type', async () => {
    const [first, second] = [await uploadUrlOf(), await uploadUrlOf()];
    const putChangedZip = (url: string, headers = first.headers) =>
      fetch(url, { method: 'PUT', headers, body: 'changed' });
    const elsewhere = first.uploadUrl.replace(first.uploadKey, second.uploadKey);
    expect(elsewhere).not.toBe(first.uploadUrl);
    expect((await putChangedZip(elsewhere)).status).toBe(403);
    const ofBundle = first.uploadUrl.replace(/uploads\/[^?]+/, `bundles/${'0'.repeat(64)}.zip`);
    expect((await putChangedZip(ofBundle)).status).toBe(403);
    expect((await putChangedZip(first.uploadUrl, { ...first.headers, 'content-type': 'text/html' })).status).toBe(403);
    for (const { uploadKey } of [first, second]) {
      const missing = await finalizeUpload(tenant.worker, packId, { uploadKey, baseRuntimeBundleId: null, files: [] });
      expect([missing.status, missing.body.code]).toEqual([409, 'upload_missing']);
    }
  });

  it('an uploaded bundle of more than 64 MiB does not become a draft', async () => {
    const { files } = makeAnyBundle();
    const uploadKey = await uploadZip(tenant.worker, packId, Buffer.alloc(64 * 1024 * 1024 + 1));
    const refused = await finalizeUpload(tenant.worker, packId, { uploadKey, baseRuntimeBundleId: null, files });
    expect([refused.status, refused.body.errors]).toEqual([422, [{ path: '', reason: 'too_large' }]]);
    expect((await tenant.as.viewer.get(`${getPackPath(packId)}/draft`)).body.code).toBe('draft_not_found');
  });
});
