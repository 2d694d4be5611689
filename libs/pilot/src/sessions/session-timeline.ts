import type { ClaimOutcome, SessionEntryKind } from '@muster/contracts';

export interface BatchFacts {
  startedAt: Date | null;
  finishedAt: Date | null;
  ingestedAt: Date;
  /** In their order. */
  claims: { claimId: string; outcome: ClaimOutcome; processingMicros: number | null }[];
  stops: { reason: string; at: Date; detail: string | null }[];
}

export interface TimelineEntry {
  at: Date;
  kind: SessionEntryKind;
  claimId: string | null;
  outcome: ClaimOutcome | null;
  reason: string | null;
  text: string;
}

const words: Record<ClaimOutcome, string> = {
  eob_uploaded: 'EOB uploaded',
  no_eob_found: 'no EOB found',
  failed: 'failed',
};

/**
 * What happened in a session, in order of time. A claim has no time of its own: it was over after what was processed up
 * to it, reckoned from the start, or back from the end, and not after the end.
 */
export function timelineOf({ startedAt, finishedAt, ingestedAt, claims, stops }: BatchFacts): TimelineEntry[] {
  const plain = { claimId: null, outcome: null, reason: null };
  const entries: TimelineEntry[] = [];
  if (startedAt) entries.push({ ...plain, at: startedAt, kind: 'started', text: 'The session started.' });

  const totalMs = claims.reduce((sum, claim) => sum + (claim.processingMicros ?? 0), 0) / 1000;
  let at = startedAt?.getTime() ?? (finishedAt ?? ingestedAt).getTime() - totalMs;
  const end = finishedAt && !(startedAt && startedAt > finishedAt) ? finishedAt.getTime() : Infinity;
  for (const { claimId, outcome, processingMicros } of claims) {
    at += (processingMicros ?? 0) / 1000;
    const text = `Claim ${claimId}: ${words[outcome]}.`;
    entries.push({ ...plain, at: atTime(Math.min(at, end)), kind: 'claim', claimId, outcome, text });
  }
  for (const { reason, at: stoppedAt, detail } of stops) {
    const text = `Stopped: ${reason}${detail ? ` (${detail})` : ''}.`;
    entries.push({ ...plain, at: stoppedAt, kind: 'stop', reason, text });
  }
  if (finishedAt) entries.push({ ...plain, at: finishedAt, kind: 'finished', text: 'The session finished.' });
  // Of one moment they stay in this order.
  return entries.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** Reckoned from the first or the last day there is, it is that day. */
function atTime(ms: number): Date {
  return new Date(Math.min(Math.max(ms, Date.parse('0001-01-01T00:00:00Z')), Date.parse('9999-12-31T23:59:59.999Z')));
}
