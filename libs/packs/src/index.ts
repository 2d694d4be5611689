export { toBundleObject, type BundleOfInstallation, lockBundleOfInstallation, buildPackLineage } from './bundle-of';
export { removeUnusedPackObjects } from './collection/collect-packs';
export { findDeployableBundle } from './deployable-bundle';
export { startUpload, type NewUpload, uploadSeconds } from './drafts/start-upload';
export { type DraftRow, findPackDraft, listBundles, readBundle, type RuntimeBundleRow } from './drafts/draft-row';
export { finalizeUpload, prepareUpload } from './drafts/finalize-upload';
export { maxExportBytes, prepareImport } from './drafts/import-draft';
export { type DraftExpectation, setDraftHead } from './drafts/set-draft-head';
export { type DraftParts, prepareDirectDraft, type PreparedDraft } from './drafts/take-draft';
export {
  findInstallation,
  type InstallationMoveRow,
  type InstallationRow,
  listInstallations,
  listInstallationMoves,
} from './installations/installation-row';
export { pinInstallation, rollBackInstallation } from './installations/change-pinned-version';
export { createInstallation, updateInstallation } from './installations/save-installation';
export { toPrefixedDigest, packObjects } from './pack-objects';
export {
  presentPackBundle,
  presentPackDraft,
  presentInstallation,
  presentPackBase,
  presentPackSummary,
  presentVersion,
} from './packs/present-pack';
export { findPack, listPacks, type PackRow, type PackSummaryRow } from './packs/pack-row';
export { listProcesses, putProcess } from './packs/process-library';
export { ensurePack, updatePack } from './packs/save-pack';
export { compareVersions } from './versions/compare-versions';
export { exportVersion } from './versions/export-version';
export { promoteVersion } from './versions/promote-version';
export { publishVersion } from './versions/publish-version';
export { findVersion, listVersions, type VersionRow } from './versions/version-row';
export { resolveLineage } from './resolve-lineage';
export { requireInstallation } from './require-installation';
