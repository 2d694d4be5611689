import type { Resync } from './timeline-event';

export interface StoredRange {
  /** The number of the oldest stored entry. */
  oldest: number | null;
  /** The newest number that was ever assigned. */
  latest: number;
}

export interface Beginning {
  /** The last entry that the reader has seen; it gets all later ones. */
  seq: number;
  resync?: Resync;
}

/**
 * Decides where a stream starts: after the last entry that the reader saw, or now. A stream cannot resume from a number
 * that is older than all stored entries, or that does not exist yet because the database was restored from a backup;
 * then a resync event reports this. Entries that were deleted with their job, between other entries, are not a gap.
 */
export function whereToBegin(lastEventId: string | undefined, { oldest, latest }: StoredRange): Beginning {
  if (lastEventId === undefined) return { seq: latest };
  const requested = Number(lastEventId);
  const gone = requested < latest && (oldest === null || requested < oldest - 1);
  if (requested <= latest && !gone) return { seq: requested };
  return {
    seq: latest,
    resync: { lastEventId, oldest: oldest === null ? null : String(oldest), latest: String(latest) },
  };
}
