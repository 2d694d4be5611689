import type { FeedbackStatus, TrackerName } from '@muster/contracts';

export interface Observation {
  tracker: TrackerName;
  /** Status that the tracker shows; `changedAt` is the time of its change by the tracker’s clock. */
  status: FeedbackStatus;
  changedAt: Date;
  /** Resolution of the tracker’s clock in milliseconds; the change may be later than `changedAt` by less than this. */
  clockStepMs: number;
  /** Status that was observed last; null before the first observation. */
  seenStatus: FeedbackStatus | null;
  /** Status that the tracker shows after a pending write of this service; null if no write is pending. */
  writingStatus: FeedbackStatus | null;
}

export interface StatusDecision {
  status: FeedbackStatus;
  at: Date;
  source: TrackerName;
}

/**
 * Decides which tracker’s change becomes the status of the submission; null if the stored status stays. Only a status
 * that differs from the last observed one is a change of the tracker. The latest change wins. An item that was not
 * changed since this service created it is open: this turns `received` into `triaged`, and never overrides another
 * status.
 */
export function decideSubmissionStatus(
  current: { status: FeedbackStatus; statusAt: Date },
  observations: readonly Observation[],
): StatusDecision | null {
  const changes = observations.filter((each) => isTrackerChange(current.status, each) && isLaterChange(current, each));
  const [last] = changes.sort((a, b) => estimateChangeTime(b) - estimateChangeTime(a));
  if (last) {
    const isFirst = current.status === 'received';
    const at = isFirst ? last.changedAt : new Date(Math.max(last.changedAt.getTime(), current.statusAt.getTime()));
    return { status: last.status, at, source: last.tracker };
  }
  const [oldest] = observations.toSorted((a, b) => a.changedAt.getTime() - b.changedAt.getTime());
  if (current.status !== 'received' || !oldest) return null;
  return { status: 'triaged', at: oldest.changedAt, source: oldest.tracker };
}

function isTrackerChange(current: FeedbackStatus, { status, seenStatus, writingStatus }: Observation): boolean {
  return status !== (seenStatus ?? 'triaged') && status !== writingStatus && !isEquivalentStatus(status, current);
}

/**
 * Whether the tracker’s change is later than the stored status, by the tracker’s clock. If the clock is too coarse to
 * decide, the change is later if the last observed status was equivalent to the stored one, because the tracker then
 * changed after it had shown the stored status.
 */
function isLaterChange({ status, statusAt }: { status: FeedbackStatus; statusAt: Date }, each: Observation): boolean {
  const earliest = each.changedAt.getTime();
  if (status === 'received' || earliest > statusAt.getTime()) return true;
  const isInStep = each.seenStatus !== null && isEquivalentStatus(each.seenStatus, status);
  return isInStep && earliest + each.clockStepMs > statusAt.getTime();
}

/** Returns the middle of the clock step to which the tracker truncated the time. */
function estimateChangeTime({ changedAt, clockStepMs }: Observation): number {
  return changedAt.getTime() + (clockStepMs - 1) / 2;
}

/** Whether a tracker’s status is equivalent to a stored status. Trackers show `closed` as `resolved`. */
function isEquivalentStatus(trackerStatus: FeedbackStatus, status: FeedbackStatus): boolean {
  return trackerStatus === status || (trackerStatus === 'resolved' && status === 'closed');
}
