import type { CostRecompute } from '@muster/contracts';
import type { RecomputeRow } from '@muster/pricing';

export function presentRecompute({ id, fromDay, toDay, runs, changed, finishedAt }: RecomputeRow): CostRecompute {
  return {
    recomputeId: id,
    from: fromDay,
    to: toDay,
    status: finishedAt ? 'done' : 'running',
    runs,
    changed,
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}
