import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { HttpClient, Tenant } from '@muster/testing';

export interface TestBundle {
  zip: Buffer;
  files: { path: string; size: number; sha256: string }[];
  digest: string;
}

/** Returns a valid bundle, with its files uncompressed. */
export function makeBundle(files: Record<string, string | Buffer>): TestBundle {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  const contents = Object.entries(files).map(([path, text]) => [path, Buffer.from(text as string)] as const);
  for (const [path, content] of contents) {
    const name = Buffer.from(path);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const attributes = Buffer.alloc(14);
    attributes.writeUInt32LE((0o100644 << 16) >>> 0, 6);
    attributes.writeUInt32LE(at, 10);
    parts.push(Buffer.from('PK\x03\x04'), common, name, content);
    directory.push(Buffer.from('PK\x01\x02\x14\x03', 'latin1'), common, attributes, name);
    at += 30 + name.length + content.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(contents.length, 8);
  end.writeUInt16LE(contents.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(at, 16);
  const zip = Buffer.concat([...parts, index, end]);
  return {
    zip,
    digest: `sha256:${sha256(zip)}`,
    files: contents.map(([path, content]) => ({ path, size: content.length, sha256: sha256(content) })),
  };
}

/** Returns a bundle with unique content, because the store keeps equal bundles only once. */
export function anyBundle(): TestBundle {
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
export async function upload(client: HttpClient, packId: string, zip: Buffer): Promise<string> {
  const { body } = await client.post(`/api/workflow-packs/${packId}/publish-from-vm/upload`);
  const sent = await fetch(body.uploadUrl, { method: 'PUT', headers: body.headers, body: new Uint8Array(zip) });
  if (sent.status !== 200) throw new Error(`the store answered ${sent.status}: ${await sent.text()}`);
  return body.uploadKey;
}

export function finalize(
  client: HttpClient,
  packId: string,
  body: { uploadKey: string; baseRuntimeBundleId: string | null; files: TestBundle['files'] },
) {
  return client.post(`/api/workflow-packs/${packId}/publish-from-vm/finalize`, body);
}

/** Publishes a version of a new bundle, and promotes it through the stages. */
export async function makeVersion(tenant: Tenant, packId: string, ...stages: string[]): Promise<string> {
  await putDraft(tenant.as.member, packId, anyBundle());
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

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
