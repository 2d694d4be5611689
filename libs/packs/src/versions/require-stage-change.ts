import { AppError, type PackStage, allowedStageChanges } from '@muster/contracts';

export function requireStageChange(from: PackStage, to: PackStage): void {
  const allowedStages = allowedStageChanges[from];
  if (allowedStages.includes(to)) return;
  const allowed =
    allowedStages.length > 0 ? `it can only become ${allowedStages.join(' or ')}` : 'its stage cannot change any more';
  throw new AppError('stage_transition_not_allowed', {
    detail: `A version that is ${from} cannot become ${to}; ${allowed}.`,
    extra: { from, to },
  });
}
