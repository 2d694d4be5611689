import type { ClaimOutcome, SessionEntryKind } from '@muster/contracts';

export interface BatchFacts {
  startedAt: Date | null;
  finishedAt: Date | null;
  ingestedAt: Date;
  /** Claims in the order of the report. */
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

const outcomeLabels: Record<ClaimOutcome, string> = {
  eob_uploaded: 'EOB uploaded',
  no_eob_found: 'no EOB found',
  failed: 'failed',
};

/**
 * Lists the events of a session in order of time. A claim has no recorded time. Its time is computed from the start
 * plus the processing times up to and including the claim. Without a start, the times are computed backwards from the
 * end. No claim is later than the end.
 */
export function buildSessionTimeline({
  startedAt,
  finishedAt,
  ingestedAt,
  claims,
  stops,
}: BatchFacts): TimelineEntry[] {
  const plain = { claimId: null, outcome: null, reason: null };
  const entries: TimelineEntry[] = [];
  if (startedAt) entries.push({ ...plain, at: startedAt, kind: 'started', text: 'The session started.' });

  const totalMs = claims.reduce((sum, claim) => sum + (claim.processingMicros ?? 0), 0) / 1000;
  let at = startedAt?.getTime() ?? (finishedAt ?? ingestedAt).getTime() - totalMs;
  const end = finishedAt && !(startedAt && startedAt > finishedAt) ? finishedAt.getTime() : Infinity;
  for (const { claimId, outcome, processingMicros } of claims) {
    at += (processingMicros ?? 0) / 1000;
    const text = `Claim ${claimId}: ${outcomeLabels[outcome]}.`;
    entries.push({ ...plain, at: toBoundedDate(Math.min(at, end)), kind: 'claim', claimId, outcome, text });
  }
  for (const { reason, at: stoppedAt, detail } of stops) {
    const text = `Stopped: ${reason}${detail ? ` (${detail})` : ''}.`;
    entries.push({ ...plain, at: stoppedAt, kind: 'stop', reason, text });
  }
  if (finishedAt) entries.push({ ...plain, at: finishedAt, kind: 'finished', text: 'The session finished.' });
  // The sort is stable, so entries with the same time stay in the order of this list.
  return entries.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** Limits a computed time to the years 1 to 9999. */
function toBoundedDate(ms: number): Date {
  return new Date(Math.min(Math.max(ms, Date.parse('0001-01-01T00:00:00Z')), Date.parse('9999-12-31T23:59:59.999Z')));
}
