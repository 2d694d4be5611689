import type { AgentIdleEntity, JobEntity } from '@muster/database';

/** A run: it ends one idle time, and the next idle time starts after it. */
export interface RunSpan extends Pick<JobEntity, 'queuedAt' | 'finishedAt'> {
  /** Whether a schedule launched the run. */
  scheduled: boolean;
}

export type IdleSpan = Pick<AgentIdleEntity, 'beganAt' | 'endedAt' | 'scheduled'>;

/**
 * Computes the idle times between runs: the end of the open one, the complete ones since, and the one that is open now.
 * Runs are in the order in which they were queued. An unfinished run leaves no open idle time.
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
