import type { Database, FeedbackLinkEntity, FeedbackSubmissionEntity, FeedbackWorkItemEntity } from '@muster/database';
import { newId } from '@muster/platform';

export type Link = Pick<
  FeedbackLinkEntity,
  | 'id'
  | 'tracker'
  | 'scope'
  | 'externalId'
  | 'externalUrl'
  | 'branch'
  | 'seenStatus'
  | 'writingStatus'
  | 'carriedStatus'
  | 'joined'
  | 'unlinkedAt'
  | 'attempts'
  | 'failingSince'
  | 'deadAt'
  | 'stopToldAt'
> & { waitMs: number | null };

export type WorkItem = Pick<
  FeedbackSubmissionEntity,
  | 'id'
  | 'organizationId'
  | 'type'
  | 'status'
  | 'title'
  | 'description'
  | 'steps'
  | 'url'
  | 'agentId'
  | 'workflowId'
  | 'jobId'
> &
  Pick<
    FeedbackWorkItemEntity,
    'severity' | 'component' | 'summary' | 'duplicates' | 'enrichedBy' | 'armed' | 'lease'
  > & {
    reportedSeverity: FeedbackSubmissionEntity['severity'];
    links: Link[];
  };

/** Leases a due work item; null if it is not due, or if another process leases it. */
export function leaseWorkItem(database: Database, id: string, leaseMs: number): Promise<WorkItem | null> {
  return database.transaction('system', async (tx) => {
    const [item] = await tx.query<Omit<WorkItem, 'links'>>(
      `WITH leased AS (
         UPDATE feedback_work_item SET lease = $2, leased_until = muster_now() + $3 * interval '1 millisecond'
         WHERE submission_id = $1 AND due_at <= muster_now() AND (leased_until IS NULL OR leased_until < muster_now())
         RETURNING *)
       SELECT s.id, s.organization_id, s.type, s.status, s.title, s.description, s.steps, s.url, s.agent_id,
         s.workflow_id, s.job_id, s.severity AS reported_severity, w.severity, w.component, w.summary, w.duplicates,
         w.enriched_by, w.armed, w.lease
       FROM leased w JOIN feedback_submission s ON s.id = w.submission_id`,
      [id, newId(), leaseMs],
    );
    if (!item) return null;
    const links = await tx.query<Link>(
      `SELECT id, tracker, scope, external_id, external_url, branch, seen_status, writing_status, carried_status, joined,
         unlinked_at, attempts, failing_since, dead_at, stop_told_at,
         (extract(epoch FROM next_try_at - muster_now()) * 1000)::float8 AS wait_ms
       FROM feedback_link WHERE submission_id = $1`,
      [id],
    );
    return { ...item, links };
  });
}

/** The lease on a work item was lost: another process may be syncing it. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

/** Extends the lease to its full duration. Throws LeaseLost if this process does not hold it any more. */
export async function renewWorkItemLease(
  database: Database,
  { id, lease }: Pick<WorkItem, 'id' | 'lease'>,
  leaseMs: number,
): Promise<void> {
  const held = await database.query(
    'system',
    `UPDATE feedback_work_item SET leased_until = muster_now() + $3 * interval '1 millisecond'
     WHERE submission_id = $1 AND lease = $2 RETURNING submission_id`,
    [id, lease, leaseMs],
  );
  if (held.length === 0) throw new LeaseLost(`the lease on ${id} was lost`);
}

/**
 * Releases the lease. The item is due again after `dueInMs`; never if that is null. If another sync was requested
 * during the lease, the item is due now and the result is true.
 */
export async function releaseWorkItem(
  database: Database,
  { id, lease, armed }: Pick<WorkItem, 'id' | 'lease' | 'armed'>,
  dueInMs: number | null,
): Promise<boolean> {
  const [row] = await database.query<{ again: boolean }>(
    'system',
    `UPDATE feedback_work_item SET lease = NULL, leased_until = NULL,
       due_at = CASE WHEN armed <> $3 THEN muster_now() ELSE muster_now() + $4::float8 * interval '1 millisecond' END,
       to_compare = to_compare AND (armed <> $3 OR $4::float8 IS NOT NULL)
     WHERE submission_id = $1 AND lease = $2 RETURNING armed <> $3 AS again`,
    [id, lease, armed, dueInMs],
  );
  return row?.again ?? false;
}
