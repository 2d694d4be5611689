import { audit, type Principal } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { toEtag, requireEtagMatch } from '@muster/platform';
import { lockPack, type PackRow } from '../packs/pack-row';
import { toPrefixedDigest } from '../pack-objects';
import { bundleColumns, bundleJoin, type RuntimeBundleRow } from './draft-row';

/** Draft head that the caller expects: undefined if any is accepted, null if the pack must have no draft. */
export interface DraftExpectation {
  baseRuntimeBundleId: string | null | undefined;
  ifMatch?: string;
}

/** Throws draft_head_conflict unless the current draft head is the draft on which the new one is based. */
export function requireUnchangedDraftHead(
  { draftRuntimeBundleId: current }: Pick<PackRow, 'draftRuntimeBundleId'>,
  { baseRuntimeBundleId, ifMatch }: DraftExpectation,
): void {
  requireEtagMatch(ifMatch, toEtag(current ?? 'none'));
  if (baseRuntimeBundleId === undefined || baseRuntimeBundleId === current) return;
  throw new AppError('draft_head_conflict', {
    detail: current
      ? 'Another draft was uploaded after the one that yours is based on. Add its changes to your draft, and upload ' +
        'your draft again with its id as baseRuntimeBundleId.'
      : 'The pack has no draft. Send null as baseRuntimeBundleId.',
    extra: { baseRuntimeBundleId, currentRuntimeBundleId: current },
  });
}

/** Makes a stored bundle the draft head. The lock of the pack serializes concurrent calls. */
export async function setDraftHead(
  tx: Transaction,
  caller: Principal,
  { packId, runtimeBundleId, expected }: { packId: string; runtimeBundleId: string; expected: DraftExpectation },
): Promise<RuntimeBundleRow> {
  const { organizationId } = caller;
  const pack = await lockPack(tx, organizationId, packId);
  requireUnchangedDraftHead(pack, expected);
  const updated = await tx.execute(
    `UPDATE runtime_bundle SET stored_at = muster_now(), base_runtime_bundle_id = $3
     WHERE id = $1 AND organization_id = $2 AND stored_at IS NULL`,
    [runtimeBundleId, organizationId, pack.draftRuntimeBundleId],
  );
  if (updated === 0) throw new AppError('service_unavailable', { detail: 'The upload took too long; try again.' });
  tx.deferStatement('UPDATE runtime_bundle SET replaced_at = muster_now() WHERE id = $1 AND organization_id = $2', [
    pack.draftRuntimeBundleId,
    organizationId,
  ]);
  tx.deferStatement(
    `UPDATE workflow_pack SET draft_runtime_bundle_id = $2, version = version + 1, updated_at = muster_now()
     WHERE id = $1 AND organization_id = $3`,
    [packId, runtimeBundleId, organizationId],
  );
  const [row] = await tx.query<RuntimeBundleRow>(
    `SELECT ${bundleColumns} FROM ${bundleJoin} WHERE b.id = $1 AND b.organization_id = $2`,
    [runtimeBundleId, organizationId],
  );
  audit(tx, caller, {
    action: 'pack.draft',
    target: { type: 'workflow_pack', id: packId },
    changes: { runtimeBundleId: [pack.draftRuntimeBundleId, runtimeBundleId], digest: toPrefixedDigest(row!.digest) },
  });
  return row!;
}
