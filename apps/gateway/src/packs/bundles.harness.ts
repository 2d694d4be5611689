import { createHash, randomBytes } from 'node:crypto';
import { type HttpClient, makeZip, type Tenant } from '@muster/testing';

export interface TestBundle {
  zip: Buffer;
  files: { path: string; size: number; sha256: string }[];
  digest: string;
}

export function makeBundle(files: Record<string, string | Buffer>): TestBundle {
  const entries = Object.entries(files).map(([name, text]) => ({ name, content: Buffer.from(text as string) }));
  const zip = makeZip(entries);
  return {
    zip,
    digest: `sha256:${sha256Hex(zip)}`,
    files: entries.map(({ name, content }) => ({ path: name, size: content.length, sha256: sha256Hex(content) })),
  };
}

/** Returns a bundle with unique content, because the store keeps equal bundles only once. */
export function makeAnyBundle(): TestBundle {
  return makeBundle({ 'main.py': `print("${randomBytes(8).toString('hex')}")\n`, 'lib/claims.py': 'x = 1\n' });
}

export async function makePack({ as }: Tenant, workerKey = `w${randomBytes(6).toString('hex')}`): Promise<string> {
  await as.admin.put(`/api/process-library/${workerKey}`, { name: 'Download EOBs' });
  const created = await as.member.post('/api/workflow-packs', { workerKey });
  if (created.status !== 201) throw new Error(`creating the pack failed with ${created.status}: ${created.text}`);
  return created.body.id;
}

export function putDraft(client: HttpClient, packId: string, { zip, files }: TestBundle, more: object = {}) {
  return client.put(`/api/workflow-packs/${packId}/draft`, { bundleBase64: zip.toString('base64'), files, ...more });
}

/** Uploads the zip to the store, and returns the upload's key. */
export async function uploadZip(client: HttpClient, packId: string, zip: Buffer): Promise<string> {
  const { body } = await client.post(`/api/workflow-packs/${packId}/publish-from-vm/upload`);
  const sent = await fetch(body.uploadUrl, { method: 'PUT', headers: body.headers, body: new Uint8Array(zip) });
  if (sent.status !== 200) throw new Error(`the store answered ${sent.status}: ${await sent.text()}`);
  return body.uploadKey;
}

export function finalizeUpload(
  client: HttpClient,
  packId: string,
  body: { uploadKey: string; baseRuntimeBundleId: string | null; files: TestBundle['files'] },
) {
  return client.post(`/api/workflow-packs/${packId}/publish-from-vm/finalize`, body);
}

/** Publishes a version of a new bundle, and promotes it through the stages. */
export async function makeVersion(tenant: Tenant, packId: string, ...stages: string[]): Promise<string> {
  await putDraft(tenant.as.member, packId, makeAnyBundle());
  const { body } = await tenant.as.member.post(`/api/workflow-packs/${packId}/versions`);
  for (const stage of stages) {
    const promotion = await tenant.as.admin.post(`/api/workflow-packs/${packId}/versions/${body.versionId}/promote`, {
      stage,
    });
    if (promotion.status !== 200)
      throw new Error(`promoting to ${stage} failed with ${promotion.status}: ${promotion.text}`);
  }
  return body.versionId;
}

function sha256Hex(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
