import type { Role } from '../roles';

/** How far a version has come. */
export const packStages = ['draft', 'internal_verified', 'pilot', 'production', 'deprecated', 'archived'] as const;
export type PackStage = (typeof packStages)[number];

/** From where to where a version may go. */
export const stageMoves: Record<PackStage, readonly PackStage[]> = {
  draft: ['internal_verified', 'archived'],
  internal_verified: ['pilot', 'draft', 'archived'],
  pilot: ['production', 'internal_verified', 'archived'],
  production: ['deprecated', 'pilot'],
  deprecated: ['production', 'archived'],
  archived: [],
};

/** What changes what runs for everybody is an admin's to decide. */
export function roleForStage(to: PackStage): Role {
  return ['production', 'deprecated', 'archived'].includes(to) ? 'admin' : 'member';
}

/** What an installation may be pinned to. */
export function isInstallable(stage: PackStage): boolean {
  return stage === 'pilot' || stage === 'production';
}

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
  'path_too_long',
  'too_many_entries',
  'too_large',
  'ratio',
  'size_mismatch',
  'digest_mismatch',
  'missing_in_zip',
  'missing_in_inventory',
] as const;
export type BundleFaultReason = (typeof bundleFaultReasons)[number];
