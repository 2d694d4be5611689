/** How far a version has come. Which may become which is a table of libs/packs. */
export const packStages = ['draft', 'internal_verified', 'pilot', 'production', 'deprecated', 'archived'] as const;
export type PackStage = (typeof packStages)[number];

/** What moves an installation's pointer. */
export const installationMoves = ['pin', 'rollback'] as const;
export type InstallationMove = (typeof installationMoves)[number];

/** What can be wrong with a bundle. */
export const bundleFaultReasons = [
  'not_a_zip',
  'truncated',
  'encrypted',
  'absolute_path',
  'parent_path',
  'link',
  'device',
  'duplicate_path',
  'case_collision',
  'bad_name',
  'too_many_entries',
  'too_large',
  'ratio',
  'size_mismatch',
  'digest_mismatch',
  'missing_in_zip',
  'missing_in_inventory',
] as const;
export type BundleFaultReason = (typeof bundleFaultReasons)[number];
