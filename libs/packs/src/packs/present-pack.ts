import type { PackDraft, PackInstallation, PackVersion, RuntimeBundle, WorkflowPackSummary } from '@muster/contracts';
import type { ObjectStorage } from '@muster/storage';
import type { DraftRow, RuntimeBundleRow } from '../drafts/draft-row';
import type { InstallationRow } from '../installations/installation-row';
import { toPrefixedDigest, packObjects } from '../pack-objects';
import type { VersionRow } from '../versions/version-row';
import type { PackRow, PackSummaryRow } from './pack-row';

const downloadSeconds = 3600;

export function presentPackBase(row: PackRow) {
  const { id, workerKey, name, description, stageTags, draftRuntimeBundleId, draftCreatedAt } = row;
  return {
    id,
    workerKey,
    name,
    description,
    stageTags,
    draftHead: draftRuntimeBundleId
      ? { runtimeBundleId: draftRuntimeBundleId, createdAt: draftCreatedAt!.toISOString() }
      : null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function presentPackSummary(row: PackSummaryRow): WorkflowPackSummary {
  const { versionCount, installationCount } = row;
  return { ...presentPackBase(row), versionCount, installationCount };
}

export function presentVersion(row: VersionRow): PackVersion {
  const { id: versionId, packId, number, label, notes, stage, runtimeBundleId, size, createdBy, history } = row;
  return {
    versionId,
    packId,
    number,
    label,
    notes,
    stage,
    runtimeBundleId,
    digest: toPrefixedDigest(row.digest),
    size,
    createdAt: row.createdAt.toISOString(),
    createdBy,
    history,
  };
}

export function presentInstallation(row: InstallationRow): PackInstallation {
  const { version: _, createdAt, updatedAt, ...shown } = row;
  return { ...shown, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

export function presentPackBundle(organizationId: string, row: RuntimeBundleRow): RuntimeBundle {
  const { id: runtimeBundleId, baseRuntimeBundleId, digest, size, createdAt, createdBy } = row;
  return {
    runtimeBundleId,
    baseRuntimeBundleId,
    digest: toPrefixedDigest(digest),
    size,
    manifestKey: packObjects.manifest(organizationId, runtimeBundleId),
    createdAt: createdAt.toISOString(),
    createdBy,
  };
}

export async function presentPackDraft(
  storage: ObjectStorage,
  organizationId: string,
  row: DraftRow,
): Promise<PackDraft> {
  const { files, digest } = row;
  const downloadUrl = await storage.presignGet(packObjects.bundle(organizationId, digest), {
    expiresInSeconds: downloadSeconds,
  });
  return { ...presentPackBundle(organizationId, row), files, downloadUrl };
}
