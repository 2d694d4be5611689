import type { Permission } from '../permissions';

/** Stages of a pack version. */
export const packStages = ['draft', 'internal_verified', 'pilot', 'production', 'deprecated', 'archived'] as const;
export type PackStage = (typeof packStages)[number];

/** For each stage of a version, the stages to which it may be changed. */
export const allowedStageChanges: Record<PackStage, readonly PackStage[]> = {
  draft: ['internal_verified', 'archived'],
  internal_verified: ['pilot', 'draft', 'archived'],
  pilot: ['production', 'internal_verified', 'archived'],
  production: ['deprecated', 'pilot'],
  deprecated: ['production', 'archived'],
  archived: [],
};

/** Returns the permission to set the stage. Stages that affect every installation need more than the others. */
export function getPermissionForStage(to: PackStage): Permission {
  return ['production', 'deprecated', 'archived'].includes(to) ? 'packs.release' : 'packs.write';
}

/** Whether an installation may be pinned to a version in this stage. */
export function isInstallableStage(stage: PackStage): boolean {
  return stage === 'pilot' || stage === 'production';
}

/** Actions that change an installation's pinned version. */
export const installationMoves = ['pin', 'rollback'] as const;
export type InstallationMove = (typeof installationMoves)[number];

/** Reasons why a bundle is rejected. */
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
