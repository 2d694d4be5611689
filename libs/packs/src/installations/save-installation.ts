import { audit, listChangedFields, type Principal } from '@muster/access';
import {
  AppError,
  type CreateInstallationBody,
  isInstallableStage,
  type UpdateInstallationBody,
} from '@muster/contracts';
import { type Transaction, getViolatedConstraint } from '@muster/database';
import { toEtag, newId, requireEtagMatch } from '@muster/platform';
import { lockPack } from '../packs/pack-row';
import { type InstallationRow, lockInstallation } from './installation-row';
import { lockVersionStage, setPinnedVersion, notInstallableError } from './change-pinned-version';

export async function createInstallation(
  tx: Transaction,
  caller: Principal,
  { packId, name, metadata = {}, versionId }: CreateInstallationBody,
): Promise<InstallationRow> {
  const { organizationId } = caller;
  await lockPack(tx, organizationId, packId);
  if (versionId) {
    const stage = await lockVersionStage(tx, caller, { packId, versionId });
    if (!isInstallableStage(stage)) throw notInstallableError(stage);
  }
  const id = newId();
  await requireUniqueName(
    tx.execute(
      'INSERT INTO pack_installation (id, organization_id, pack_id, name, metadata) VALUES ($1, $2, $3, $4, $5)',
      [id, organizationId, packId, name, JSON.stringify(metadata)],
    ),
  );
  audit(tx, caller, {
    action: 'installation.create',
    target: { type: 'pack_installation', id },
    changes: { packId, name, metadata },
  });
  return versionId
    ? setPinnedVersion(tx, caller, { id, pinnedVersionId: null }, { action: 'pin', to: versionId })
    : lockInstallation(tx, organizationId, id);
}

export async function updateInstallation(
  tx: Transaction,
  caller: Principal,
  id: string,
  { change, ifMatch }: { change: UpdateInstallationBody; ifMatch?: string },
): Promise<InstallationRow> {
  const { organizationId } = caller;
  const before = await lockInstallation(tx, organizationId, id);
  requireEtagMatch(ifMatch, toEtag(before.version));
  const { name = before.name, metadata = before.metadata } = change;
  await requireUniqueName(
    tx.execute(
      `UPDATE pack_installation SET name = $2, metadata = $3, version = version + 1, updated_at = muster_now()
       WHERE id = $1 AND organization_id = $4`,
      [id, name, JSON.stringify(metadata), organizationId],
    ),
  );
  audit(tx, caller, {
    action: 'installation.update',
    target: { type: 'pack_installation', id },
    changes: listChangedFields(before, { name, metadata }),
  });
  return lockInstallation(tx, organizationId, id);
}

async function requireUniqueName(write: Promise<number>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (getViolatedConstraint(error) !== 'pack_installation_name') throw error;
    throw new AppError('conflict', {
      detail: 'The pack already has an installation with this name. Use another name.',
      cause: error,
    });
  }
}
