import type { FeedbackStatus, TrackerName } from '@muster/contracts';

export interface Observation {
  tracker: TrackerName;
  /** What the tracker shows, and since when by its own clock. */
  status: FeedbackStatus;
  changedAt: Date;
  /** How coarse that clock is: the change may have been up to so much later. */
  clockStepMs: number;
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
 * before is a change of theirs, the later one wins, and an item that nobody has touched since we made it is open: that
 * is the first status of what was `received`, and stands against nothing.
 */
export function decideStatus(
  current: { status: FeedbackStatus; statusAt: Date },
  observations: readonly Observation[],
): StatusDecision | null {
  const changes = observations.filter((each) => isTheirs(current.status, each) && isLater(current, each));
  const [last] = changes.sort((a, b) => likelyTime(b) - likelyTime(a));
  if (last) {
    const isFirst = current.status === 'received';
    const at = isFirst ? last.changedAt : new Date(Math.max(last.changedAt.getTime(), current.statusAt.getTime()));
    return { status: last.status, at, source: last.tracker };
  }
  const [made] = observations.toSorted((a, b) => a.changedAt.getTime() - b.changedAt.getTime());
  if (current.status !== 'received' || !made) return null;
  return { status: 'triaged', at: made.changedAt, source: made.tracker };
}

function isTheirs(current: FeedbackStatus, { status, seenStatus, writingStatus }: Observation): boolean {
  return status !== (seenStatus ?? 'triaged') && status !== writingStatus && !shows(status, current);
}

/**
 * By the tracker's own time. Where that is too coarse to say, what we had seen in step with ours was changed after ours
 * was there.
 */
function isLater({ status, statusAt }: { status: FeedbackStatus; statusAt: Date }, each: Observation): boolean {
  const earliest = each.changedAt.getTime();
  if (status === 'received' || earliest > statusAt.getTime()) return true;
  const isInStep = each.seenStatus !== null && shows(each.seenStatus, status);
  return isInStep && earliest + each.clockStepMs > statusAt.getTime();
}

/** Amid the step of the clock that the time was cut to. */
function likelyTime({ changedAt, clockStepMs }: Observation): number {
  return changedAt.getTime() + (clockStepMs - 1) / 2;
}

/** Whether what a tracker shows is our status: no tracker has a word for feedback that is closed. */
function shows(shown: FeedbackStatus, status: FeedbackStatus): boolean {
  return shown === status || (shown === 'resolved' && status === 'closed');
}
