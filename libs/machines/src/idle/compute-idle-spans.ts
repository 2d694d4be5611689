import type { AgentIdleEntity, JobEntity } from '@muster/database';

/** A run that ends one idle time and after which the next idle time starts. */
export interface RunSpan extends Pick<JobEntity, 'queuedAt' | 'finishedAt'> {
  /** Whether a schedule launched the run that ends the idle time. */
  scheduled: boolean;
}

export type IdleSpan = Pick<AgentIdleEntity, 'beganAt' | 'endedAt' | 'scheduled'>;

/**
 * Computes a machine's idle times from its runs: the end of the open idle time, the complete idle times since then, and
 * the idle time that is open now. The runs must be in the order in which they were queued. If a run is unfinished, no
 * idle time is open now.
 */
export function computeIdleSpans(openSince: Date | null, runs: RunSpan[]): IdleSpan[] {
  const spans: IdleSpan[] = [];
  let idleSince = openSince;
  let busyUntil: Date | null = null;
  for (const { queuedAt, finishedAt, scheduled } of runs) {
    if (idleSince === null && busyUntil !== null && queuedAt > busyUntil) idleSince = busyUntil;
    if (idleSince !== null) {
      spans.push({ beganAt: idleSince, endedAt: queuedAt > idleSince ? queuedAt : idleSince, scheduled });
      idleSince = null;
    }
    if (finishedAt === null) return spans;
    if (busyUntil === null || finishedAt > busyUntil) busyUntil = finishedAt;
  }
  if (busyUntil !== null) spans.push({ beganAt: busyUntil, endedAt: null, scheduled: false });
  return spans;
}
