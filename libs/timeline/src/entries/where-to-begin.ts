import type { Resync } from './timeline-event';

export interface Kept {
  /** The oldest entry that is still there, and the newest number that was ever given. */
  oldest: number | null;
  latest: number;
}

export interface Beginning {
  /** What the reader has seen: it gets everything after it. */
  seq: number;
  resync?: Resync;
}

/**
 * Where a stream begins: after what the reader saw last, or now. A number older than all that is kept, or from the
 * future (the database went back to a backup), can't be gone on from, and is said so. Entries that were deleted
 * between others went with their job: they leave no gap.
 */
export function whereToBegin(lastEventId: string | undefined, { oldest, latest }: Kept): Beginning {
  if (lastEventId === undefined) return { seq: latest };
  const asked = Number(lastEventId);
  const gone = asked < latest && (oldest === null || asked < oldest - 1);
  if (asked <= latest && !gone) return { seq: asked };
  return {
    seq: latest,
    resync: { lastEventId, oldest: oldest === null ? null : String(oldest), latest: String(latest) },
  };
}
