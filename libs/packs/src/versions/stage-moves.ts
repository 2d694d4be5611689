import { AppError, type PackStage, stageMoves } from '@muster/contracts';

export function requireMove(from: PackStage, to: PackStage): void {
  const moves = stageMoves[from];
  if (moves.includes(to)) return;
  const allowed = moves.length > 0 ? `it can only become ${moves.join(' or ')}` : 'its stage cannot change any more';
  throw new AppError('stage_transition_not_allowed', {
    detail: `A version that is ${from} cannot become ${to}; ${allowed}.`,
    extra: { from, to },
  });
}
