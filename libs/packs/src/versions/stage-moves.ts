import { AppError, type PackStage, stageMoves } from '@muster/contracts';

export function requireMove(from: PackStage, to: PackStage): void {
  const moves = stageMoves[from];
  if (moves.includes(to)) return;
  const allowed = moves.length > 0 ? `it may become ${moves.join(' or ')}` : 'that is where it stays';
  throw new AppError('stage_transition_not_allowed', {
    detail: `A version that is ${from} does not become ${to}: ${allowed}.`,
    extra: { from, to },
  });
}
