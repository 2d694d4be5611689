import type { Resync } from './timeline-event';

export interface StoredRange {
  /** The number of the oldest stored entry. */
  oldest: number | null;
  /** The newest number that was ever assigned in this timeline. */
  latest: number;
}

export interface Beginning {
  /** The number of the last entry that the reader has seen; the reader gets all later entries. */
  seq: number;
  resync?: Resync;
}

/**
 * Decides where a stream starts: after the last entry that the reader has seen, or now. A stream cannot resume from a
 * number that is smaller than all stored ones, because entries after it were deleted. It also cannot resume from a
 * number that does not exist yet, because the database was restored from a backup. In both cases a resync event reports
 * that entries are missing. Entries that were deleted together with their job do not count as missing.
 */
export function decideStreamStart(lastEventId: string | undefined, { oldest, latest }: StoredRange): Beginning {
  if (lastEventId === undefined) return { seq: latest };
  const requested = Number(lastEventId);
  const gone = requested < latest && (oldest === null || requested < oldest - 1);
  if (requested <= latest && !gone) return { seq: requested };
  return {
    seq: latest,
    resync: { lastEventId, oldest: oldest === null ? null : String(oldest), latest: String(latest) },
  };
}
