import type { AgentIdleEntity, JobEntity } from '@muster/database';

/** A run as an idle time ends with it, and another begins. */
export interface RunSpan extends Pick<JobEntity, 'queuedAt' | 'finishedAt'> {
  /** A schedule launched it. */
  scheduled: boolean;
}

export type IdleSpan = Pick<AgentIdleEntity, 'beganAt' | 'endedAt' | 'scheduled'>;

/**
 * The idle times between runs: what ends the one that is open, those that came and went since, and the one that is open
 * now. Runs are in the order in which they were queued; one that is not over yet leaves none open.
 */
export function foldRuns(openSince: Date | null, runs: RunSpan[]): IdleSpan[] {
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
