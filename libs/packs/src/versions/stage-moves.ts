import { AppError, type PackStage, type Role } from '@muster/contracts';

/** From where to where a version may go. */
const moves: Record<PackStage, readonly PackStage[]> = {
  draft: ['internal_verified', 'archived'],
  internal_verified: ['pilot', 'draft', 'archived'],
  pilot: ['production', 'internal_verified', 'archived'],
  production: ['deprecated', 'pilot'],
  deprecated: ['production', 'archived'],
  archived: [],
};

export function requireMove(from: PackStage, to: PackStage): void {
  if (moves[from].includes(to)) return;
  const allowed = moves[from].length > 0 ? `it may become ${moves[from].join(' or ')}` : 'that is where it stays';
  throw new AppError('stage_transition_not_allowed', {
    detail: `A version that is ${from} does not become ${to}: ${allowed}.`,
    extra: { from, to },
  });
}

/** What changes what runs for everybody is an admin's to decide. */
export function roleFor(to: PackStage): Role {
  return ['production', 'deprecated', 'archived'].includes(to) ? 'admin' : 'member';
}

/** What an installation may be pinned to. */
export function isInstallable(stage: PackStage): boolean {
  return stage === 'pilot' || stage === 'production';
}
