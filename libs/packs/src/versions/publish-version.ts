import { audit, describeCaller, type Principal } from '@muster/access';
import { AppError, type PublishVersionBody } from '@muster/contracts';
import type { PackVersionEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { lockPack } from '../packs/pack-row';
import { readPackVersion, type VersionRow } from './version-row';

/** Makes the draft head a version, which never changes. */
export async function publishVersion(
  tx: Transaction,
  caller: Principal,
  packId: string,
  { label = null, notes = null }: { [K in keyof PublishVersionBody]: PublishVersionBody[K] | null },
): Promise<VersionRow> {
  const { organizationId } = caller;
  const { draftRuntimeBundleId: head } = await lockPack(tx, organizationId, packId);
  if (!head)
    throw new AppError('draft_to_publish_missing', {
      detail: 'The pack has no draft to publish. Upload a bundle as the draft first.',
    });
  const [existing] = await tx.query<Pick<PackVersionEntity, 'id' | 'number'>>(
    'SELECT id, number FROM pack_version WHERE runtime_bundle_id = $1 AND organization_id = $2',
    [head, organizationId],
  );
  if (existing) {
    throw new AppError('draft_already_published', {
      detail: `The draft is already published as version ${existing.number}. Upload a new draft to publish another version.`,
      extra: { versionId: existing.id },
    });
  }
  const versionId = newId();
  await tx.execute(
    `INSERT INTO pack_version (id, organization_id, pack_id, number, label, notes, runtime_bundle_id, created_by)
     SELECT $1, $2, $3, COALESCE(max(number), 0) + 1, $4, $5, $6, $7 FROM pack_version WHERE pack_id = $3`,
    [versionId, organizationId, packId, label, notes, head, describeCaller(caller)],
  );
  tx.deferStatement('UPDATE workflow_pack SET version = version + 1, updated_at = muster_now() WHERE id = $1', [
    packId,
  ]);
  const version = await readPackVersion(tx, organizationId, { packId, versionId });
  audit(tx, caller, {
    action: 'pack.version',
    target: { type: 'pack_version', id: versionId },
    changes: { packId, number: version.number, runtimeBundleId: head },
  });
  return version;
}
