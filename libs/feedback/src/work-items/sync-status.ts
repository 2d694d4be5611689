import { audit } from '@muster/access';
import type { FeedbackStatus } from '@muster/contracts';
import type { Database, FeedbackSubmissionEntity } from '@muster/database';
import type { Tracker, TrackerItem } from '@muster/trackers';
import { setSubmissionStatus } from '../submissions/set-submission-status';
import type { Link, WorkItem } from './lease-work-item';
import { decideSubmissionStatus, type Observation } from './decide-status';

export interface Observed {
  tracker: Tracker;
  link: Link;
  item: TrackerItem;
}

/** Applies the status changes of the trackers; the latest wins. Stores observations and result in one transaction. */
export function applyTrackerStatus(database: Database, { id, organizationId }: WorkItem, observed: Observed[]) {
  return database.transaction('system', async (tx): Promise<FeedbackStatus> => {
    const [current] = await tx.query<Pick<FeedbackSubmissionEntity, 'status' | 'statusAt'>>(
      'SELECT status, status_at FROM feedback_submission WHERE id = $1 FOR UPDATE',
      [id],
    );
    const observations: Observation[] = observed.map(({ tracker, link, item }) => ({
      tracker: link.tracker,
      status: item.status,
      changedAt: item.changedAt,
      clockStepMs: tracker.clockStepMs,
      seenStatus: link.seenStatus,
      writingStatus: link.writingStatus,
    }));
    const decision = decideSubmissionStatus(current!, observations);
    if (decision) {
      await setSubmissionStatus(tx, { id, organizationId, from: current!.status }, decision);
      audit(
        tx,
        { kind: 'system', id: decision.source, organizationId },
        {
          action: 'feedback.update',
          target: { type: 'feedback_submission', id },
          changes: { status: [current!.status, decision.status] },
        },
      );
    }
    for (const { link, item } of observed) {
      const arrived = item.status === link.writingStatus;
      if (item.status === link.seenStatus && !arrived) continue;
      // A change in the tracker that is older than the stored status is overwritten. For that, the last written status
      // is set to null, so that the same status is written again.
      const carriedStatus = arrived ? link.carriedStatus : null;
      await tx.execute(
        'UPDATE feedback_link SET seen_status = $2, carried_status = $3, writing_status = NULL WHERE id = $1',
        [link.id, item.status, carriedStatus],
      );
      Object.assign(link, { seenStatus: item.status, carriedStatus, writingStatus: null });
    }
    return decision?.status ?? current!.status;
  });
}

/**
 * Writes the status to a tracker that shows a different one. First stores the status that the tracker will show
 * afterwards, so that this status does not count as a change of the tracker.
 */
export async function writeStatusToTracker(
  database: Database,
  { tracker, link, item }: Observed,
  status: FeedbackStatus,
): Promise<void> {
  const target = await tracker.predictStatusAfter(item, status);
  if (item.status === target) {
    if (link.carriedStatus !== status) {
      await database.query('system', 'UPDATE feedback_link SET carried_status = $2 WHERE id = $1', [link.id, status]);
    }
    return;
  }
  // Nothing is written, because the status was written already and the tracker shows its closest equivalent.
  if (link.carriedStatus === status && link.seenStatus === item.status) return;
  await database.query('system', 'UPDATE feedback_link SET writing_status = $2 WHERE id = $1', [link.id, target]);
  const updated = await tracker.setStatus(item, status);
  await database.query(
    'system',
    `UPDATE feedback_link SET seen_status = $2, carried_status = $3, writing_status = NULL WHERE id = $1`,
    [link.id, updated.status, status],
  );
}
