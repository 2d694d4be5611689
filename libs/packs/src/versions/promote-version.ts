import { audit, describeCaller, type Principal } from '@muster/access';
import { AppError, getPermissionForStage, hasPermission, type PromoteVersionBody } from '@muster/contracts';
import type { PackInstallationEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { emitEvent } from '@muster/webhooks';
import { lockPack } from '../packs/pack-row';
import { requireStageChange } from './require-stage-change';
import { lockPackVersion, readPackVersion, type VersionRow } from './version-row';

export async function promoteVersion(
  tx: Transaction,
  caller: Principal,
  { packId, versionId }: { packId: string; versionId: string },
  { stage, reason = null }: { stage: PromoteVersionBody['stage']; reason?: string | null },
): Promise<VersionRow> {
  const { organizationId } = caller;
  const needed = getPermissionForStage(stage);
  if (!hasPermission(caller, needed)) {
    throw new AppError('permission_denied', {
      detail: `Changing the stage of a version to ${stage} requires the permission ${needed}. Ask an admin of the organization to do it.`,
    });
  }
  await lockPack(tx, organizationId, packId);
  const version = await lockPackVersion(tx, organizationId, { packId, versionId });
  requireStageChange(version.stage, stage);
  if (version.stage === 'production' && stage === 'pilot')
    await requireUnusedBeyondPilots(tx, organizationId, versionId);
  await tx.execute('UPDATE pack_version SET stage = $2 WHERE id = $1 AND organization_id = $3', [
    versionId,
    stage,
    organizationId,
  ]);
  tx.deferStatement(
    `INSERT INTO pack_version_move (id, organization_id, version_id, from_stage, to_stage, moved_by, reason)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [newId(), organizationId, versionId, version.stage, stage, describeCaller(caller), reason],
  );
  tx.deferStatement('UPDATE workflow_pack SET version = version + 1, updated_at = muster_now() WHERE id = $1', [
    packId,
  ]);
  audit(tx, caller, {
    action: 'pack.promote',
    target: { type: 'pack_version', id: versionId },
    changes: { stage: [version.stage, stage], ...(reason ? { reason } : {}) },
  });
  emitEvent(tx, { organizationId, type: 'pack.promoted', subjects: [{ id: versionId, details: { packId, stage } }] });
  return readPackVersion(tx, organizationId, { packId, versionId });
}

/**
 * Throws if an installation that is not marked as pilot is pinned to the version. A pin locks the row of the version,
 * so no pin can be added until this transaction ends.
 */
async function requireUnusedBeyondPilots(tx: Transaction, organizationId: string, versionId: string): Promise<void> {
  const pinned = await tx.query<Pick<PackInstallationEntity, 'id'>>(
    `SELECT id FROM pack_installation
     WHERE pinned_version_id = $1 AND organization_id = $2 AND metadata->>'ring' IS DISTINCT FROM 'pilot'
     ORDER BY id LIMIT 50`,
    [versionId, organizationId],
  );
  if (pinned.length === 0) return;
  throw new AppError('stage_in_use', {
    detail: 'Installations that are not marked as pilot are pinned to this version. Pin them to another version first.',
    extra: { installationIds: pinned.map(({ id }) => id) },
  });
}
