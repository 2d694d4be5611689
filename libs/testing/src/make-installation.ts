import type { Database, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { createHash } from 'node:crypto';

interface MadeVersion {
  versionId: string;
  runtimeBundleId: string;
  /** Digest of the content: `sha256:` and the hash in hex. */
  digest: string;
}

export interface MadeInstallation {
  packId: string;
  installationId: string;
  /** The first version is pinned, and a rollback would return to the second one. */
  versions: MadeVersion[];
}

/**
 * Creates a pack with a production version for each content, and one installation. Without contents, no version is
 * pinned.
 */
export async function makeInstallation(
  db: Database,
  { organizationId, contents }: { organizationId: string; contents: (string | Buffer)[] },
): Promise<MadeInstallation> {
  const [packId, installationId] = [newId(), newId()];
  return db.transaction('system', async (tx) => {
    const workerKey = `process-${packId}`;
    await tx.execute('INSERT INTO library_process (organization_id, worker_key, name) VALUES ($1, $2, $2)', [
      organizationId,
      workerKey,
    ]);
    await tx.execute('INSERT INTO workflow_pack (id, organization_id, worker_key, name) VALUES ($1, $2, $3, $3)', [
      packId,
      organizationId,
      workerKey,
    ]);
    const versions: MadeVersion[] = [];
    for (const [at, content] of contents.entries()) {
      versions.push(await makePackVersion(tx, { organizationId, packId, number: contents.length - at, content }));
    }
    await tx.execute(
      `INSERT INTO pack_installation (id, organization_id, pack_id, name, pinned_version_id, previous_version_id)
       VALUES ($1, $2, $3, 'Front office', $4, $5)`,
      [installationId, organizationId, packId, versions[0]?.versionId ?? null, versions[1]?.versionId ?? null],
    );
    return { packId, installationId, versions };
  });
}

async function makePackVersion(
  tx: Transaction,
  {
    organizationId,
    packId,
    number,
    content,
  }: Record<'organizationId' | 'packId', string> & {
    number: number;
    content: string | Buffer;
  },
): Promise<MadeVersion> {
  const [versionId, runtimeBundleId] = [newId(), newId()];
  const digest = createHash('sha256').update(content).digest('hex');
  await tx.execute(
    'INSERT INTO pack_bundle (organization_id, digest, size) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [organizationId, digest, content.length],
  );
  await tx.execute(
    `INSERT INTO runtime_bundle
       (id, organization_id, pack_id, digest, file_count, unpacked_size, created_by, stored_at)
     VALUES ($1, $2, $3, $4, 1, $5, 'test', now())`,
    [runtimeBundleId, organizationId, packId, digest, content.length],
  );
  await tx.execute(
    `INSERT INTO pack_version (id, organization_id, pack_id, number, stage, runtime_bundle_id, created_by)
     VALUES ($1, $2, $3, $4, 'production', $5, 'test')`,
    [versionId, organizationId, packId, number, runtimeBundleId],
  );
  return { versionId, runtimeBundleId, digest: `sha256:${digest}` };
}
