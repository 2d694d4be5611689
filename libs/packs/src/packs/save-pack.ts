import { audit, listChangedFields, type Principal } from '@muster/access';
import { AppError, type EnsurePackBody, type UpdatePackBody } from '@muster/contracts';
import type { LibraryProcessEntity, Transaction } from '@muster/database';
import { toEtag, newId, requireEtagMatch } from '@muster/platform';
import { lockPack, type PackRow } from './pack-row';

/** Creates the pack of a process. An existing pack is returned unchanged. */
export async function ensurePack(
  tx: Transaction,
  caller: Principal,
  body: EnsurePackBody,
): Promise<{ pack: PackRow; isNew: boolean }> {
  const { organizationId } = caller;
  const { workerKey, stageTags = [] } = body;
  const [libraryProcess] = await tx.query<Pick<LibraryProcessEntity, 'name' | 'description'>>(
    'SELECT name, description FROM library_process WHERE organization_id = $1 AND worker_key = $2',
    [organizationId, workerKey],
  );
  if (!libraryProcess)
    throw new AppError('process_not_found', {
      detail: `The process library has no process with the worker key ${workerKey}. Add it with PUT /api/process-library/{workerKey}.`,
    });
  const { name = libraryProcess.name, description = libraryProcess.description } = body;
  const id = newId();
  const inserted = await tx.execute(
    `INSERT INTO workflow_pack (id, organization_id, worker_key, name, description, stage_tags)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (organization_id, worker_key) DO NOTHING`,
    [id, organizationId, workerKey, name, description, stageTags],
  );
  if (inserted > 0) {
    audit(tx, caller, { action: 'pack.create', target: { type: 'workflow_pack', id }, changes: { workerKey, name } });
    return { pack: await lockPack(tx, organizationId, id), isNew: true };
  }
  const [existing] = await tx.query<{ id: string }>(
    'SELECT id FROM workflow_pack WHERE organization_id = $1 AND worker_key = $2',
    [organizationId, workerKey],
  );
  return { pack: await lockPack(tx, organizationId, existing!.id), isNew: false };
}

export async function updatePack(
  tx: Transaction,
  caller: Principal,
  id: string,
  { change, ifMatch }: { change: UpdatePackBody; ifMatch?: string },
): Promise<PackRow> {
  const before = await lockPack(tx, caller.organizationId, id);
  requireEtagMatch(ifMatch, toEtag(before.version));
  const { name = before.name, description = before.description, stageTags = before.stageTags } = change;
  await tx.execute(
    `UPDATE workflow_pack
     SET name = $2, description = $3, stage_tags = $4, version = version + 1, updated_at = muster_now() WHERE id = $1`,
    [id, name, description, stageTags],
  );
  audit(tx, caller, {
    action: 'pack.update',
    target: { type: 'workflow_pack', id },
    changes: listChangedFields(before, { name, description, stageTags }),
  });
  return lockPack(tx, caller.organizationId, id);
}
