import type { FeedbackStatus, TrackerName } from '@muster/contracts';

export interface Observation {
  tracker: TrackerName;
  /** What the tracker shows, and since when by its own clock. */
  status: FeedbackStatus;
  changedAt: Date;
  /** What it showed last; null before the first look. */
  seenStatus: FeedbackStatus | null;
  /** What it shows once our own change has arrived. */
  writingStatus: FeedbackStatus | null;
}

export interface StatusDecision {
  status: FeedbackStatus;
  at: Date;
  source: TrackerName;
}

/**
 * Which tracker's change is to become everybody's status; null where ours holds. Only what differs from what was seen
 * before is a change of theirs, the later one wins, and `received` is what nobody has said anything about yet.
 */
export function decideStatus(
  current: { status: FeedbackStatus; statusAt: Date },
  observations: readonly Observation[],
): StatusDecision | null {
  let winner: StatusDecision | null = null;
  let latest = current.status === 'received' ? -Infinity : current.statusAt.getTime();
  for (const each of observations) {
    if (!isTheirs(current.status, each) || each.changedAt.getTime() <= latest) continue;
    latest = each.changedAt.getTime();
    winner = { status: each.status, at: each.changedAt, source: each.tracker };
  }
  return winner;
}

function isTheirs(current: FeedbackStatus, { tracker, status, seenStatus, writingStatus }: Observation): boolean {
  const before = seenStatus ?? (current === 'received' ? null : 'triaged');
  return status !== before && status !== writingStatus && !shows(tracker, status, current);
}

/** Whether what a tracker shows is our status, as well as it has a word for it. */
function shows(tracker: TrackerName, shown: FeedbackStatus, status: FeedbackStatus): boolean {
  if (shown === status) return true;
  return shown === 'resolved' && (status === 'closed' || (status === 'rejected' && tracker === 'tasktracker'));
}
