import { audit, describeCaller, type Principal } from '@muster/access';
import { AppError, type InstallationMove, isInstallableStage } from '@muster/contracts';
import type { JobEntity, PackVersionEntity, Transaction } from '@muster/database';
import { toEtag, newId, requireEtagMatch } from '@muster/platform';
import { emitEvent } from '@muster/webhooks';
import { versionNotFoundError } from '../versions/version-row';
import { type InstallationRow, lockInstallation } from './installation-row';

interface PinChangeRequest {
  reason?: string;
  ifMatch?: string;
}

/** Pins an installation to a version. Changes nothing if it is already pinned to that version. */
export async function pinInstallation(
  tx: Transaction,
  caller: Principal,
  id: string,
  { versionId, reason, ifMatch }: PinChangeRequest & { versionId: string },
): Promise<InstallationRow> {
  const installation = await lockInstallation(tx, caller.organizationId, id);
  requireEtagMatch(ifMatch, toEtag(installation.version));
  const stage = await lockVersionStage(tx, caller, { packId: installation.packId, versionId });
  if (installation.pinnedVersionId === versionId) return installation;
  if (!isInstallableStage(stage)) throw notInstallableError(stage);
  return setPinnedVersion(tx, caller, installation, { action: 'pin', to: versionId, reason });
}

/**
 * Swaps the pinned version with the previous one. Also returns the queued jobs that still use the version that was
 * pinned before the swap.
 */
export async function rollBackInstallation(
  tx: Transaction,
  caller: Principal,
  id: string,
  { reason, ifMatch }: PinChangeRequest,
): Promise<{ installation: InstallationRow; queuedJobs: string[] }> {
  const { organizationId } = caller;
  const before = await lockInstallation(tx, organizationId, id);
  requireEtagMatch(ifMatch, toEtag(before.version));
  const { previousVersionId: to, pinnedVersionId: left, packId } = before;
  if (!to)
    throw new AppError('no_previous_version', {
      detail: 'The installation has no previous version. Pin it to the version that you want.',
    });
  const stage = await lockVersionStage(tx, caller, { packId, versionId: to });
  if (stage === 'archived') throw notInstallableError(stage);
  const installation = await setPinnedVersion(tx, caller, before, { action: 'rollback', to, reason });
  const jobs = await tx.query<Pick<JobEntity, 'id'>>(
    `SELECT id FROM job
     WHERE workflow_pack_installation_id = $1 AND organization_id = $2 AND status = 'queued'
       AND bundle->>'versionId' = $3
     ORDER BY id LIMIT 10000`,
    [id, organizationId, left],
  );
  return { installation, queuedJobs: jobs.map((job) => job.id) };
}

/** Returns the stage of a version and locks it until the transaction ends. */
export async function lockVersionStage(
  tx: Transaction,
  { organizationId }: Principal,
  { packId, versionId }: { packId: string; versionId: string },
): Promise<PackVersionEntity['stage']> {
  const [version] = await tx.query<Pick<PackVersionEntity, 'stage'>>(
    'SELECT stage FROM pack_version WHERE id = $1 AND pack_id = $2 AND organization_id = $3 FOR SHARE',
    [versionId, packId, organizationId],
  );
  if (!version) throw versionNotFoundError();
  return version.stage;
}

export function notInstallableError(stage: string): AppError {
  return new AppError('version_not_installable', {
    detail: `The version is in the stage ${stage}. An installation can only be pinned to a version in the stage pilot or production. Change the stage of the version first.`,
    extra: { stage },
  });
}

export async function setPinnedVersion(
  tx: Transaction,
  caller: Principal,
  { id, pinnedVersionId: from }: Pick<InstallationRow, 'id' | 'pinnedVersionId'>,
  { action, to, reason = null }: { action: InstallationMove; to: string; reason?: string | null },
): Promise<InstallationRow> {
  const { organizationId } = caller;
  tx.deferStatement(
    `UPDATE pack_installation
     SET pinned_version_id = $2, previous_version_id = $3, version = version + 1, updated_at = muster_now()
     WHERE id = $1 AND organization_id = $4`,
    [id, to, from, organizationId],
  );
  tx.deferStatement(
    `INSERT INTO pack_installation_move
       (id, organization_id, installation_id, action, from_version_id, to_version_id, moved_by, reason, moved_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, muster_clock())`,
    [newId(), organizationId, id, action, from, to, describeCaller(caller), reason],
  );
  audit(tx, caller, {
    action: `installation.${action}`,
    target: { type: 'pack_installation', id },
    changes: { pinnedVersionId: [from, to], ...(reason ? { reason } : {}) },
  });
  const details = { pinnedVersionId: to, previousVersionId: from };
  emitEvent(tx, { organizationId, type: 'installation.pinned', subjects: [{ id, details }] });
  return lockInstallation(tx, organizationId, id);
}
