import type { Database, FeedbackLinkEntity } from '@muster/database';
import { TrackerBusy, TrackerRefused, type Tracker } from '@muster/trackers';
import { renewWorkItemLease, type Link, LeaseLost, type WorkItem } from './lease-work-item';
import { buildLabels, buildMarker, buildItemText } from './item-text';
import { recordBranchRefusal } from './link-failures';

/** Maximum assumed difference between the clocks of the database and of a tracker. */
const skewMs = 24 * 3_600_000;

interface CreateParts {
  database: Database;
  tracker: Tracker;
  /** Duration of the work item’s lease, which is extended right before the creation. */
  leaseMs: number;
  /** Time limit of the call that creates the item. */
  timeoutMs: number;
  /** Time for which a creation without an answer may still be in progress. */
  inProgressMs: number;
}

/**
 * Finds the work item’s issue or task by the marker in its text, or creates it. A lease of the creation is stored
 * before the call (`claimed_at`). So after a crash or a lost answer the next process waits until the call must have
 * ended, and then searches for its result. A process that was suspended between the search and the creation may have
 * lost this lease. Therefore it checks the lease right before the creation, and creates nothing if the lease was lost.
 */
export async function createTrackerItem(
  parts: CreateParts,
  item: WorkItem,
  link: Link,
  linkedTo: string | null,
): Promise<void> {
  const { database, tracker, leaseMs, inProgressMs } = parts;
  const [claim] = await database.query<Pick<FeedbackLinkEntity, 'claim'> & { firstClaimedAt: Date }>(
    'system',
    `UPDATE feedback_link SET first_claimed_at = COALESCE(first_claimed_at, muster_now()), claimed_at = muster_now(),
       claim = claim + 1
     WHERE id = $1 AND external_id IS NULL
       AND (claimed_at IS NULL OR claimed_at < muster_now() - $2 * interval '1 millisecond')
     RETURNING first_claimed_at, claim`,
    [link.id, inProgressMs],
  );
  if (!claim) throw new CreationInProgress(`${tracker.name}: a creation may still be in progress`, inProgressMs);
  const since = new Date(claim.firstClaimedAt.getTime() - skewMs);
  let found = await tracker.findItem(buildMarker(item.id), since, () => renewWorkItemLease(database, item, leaseMs));
  if (!found) {
    const confirmedAt = performance.now();
    await confirmCreationLease(parts, item, { id: link.id, claim: claim.claim });
    // The call must end before the lease expires; otherwise it is not made.
    if (performance.now() - confirmedAt > leaseMs - 2 * parts.timeoutMs)
      throw new LeaseLost('the lease is about to expire');
    found = await tracker.createItem({
      title: item.title,
      text: buildItemText(item, linkedTo),
      labels: buildLabels(item),
    });
  }
  const { externalId, url } = found;
  const joined = linkedTo !== null && found.text.includes(linkedTo);
  const linked = await database.query(
    'system',
    `UPDATE feedback_link SET scope = $2, external_id = $3, external_url = $4, joined = $5, claimed_at = NULL
     WHERE id = $1 AND external_id IS NULL RETURNING id`,
    [link.id, tracker.scope, externalId, url, joined],
  );
  if (linked.length === 0) throw new LeaseLost('another process has linked it');
  Object.assign(link, { scope: tracker.scope, externalId, externalUrl: url, joined });
}

/**
 * Checks in one statement that this process holds the lease of the work item and the latest lease of the creation.
 * Throws LeaseLost otherwise.
 */
async function confirmCreationLease(
  { database, leaseMs }: CreateParts,
  item: WorkItem,
  { id, claim }: Pick<FeedbackLinkEntity, 'id' | 'claim'>,
): Promise<void> {
  const confirmed = await database.query(
    'system',
    `WITH held AS (
       UPDATE feedback_work_item SET leased_until = muster_now() + $3 * interval '1 millisecond'
       WHERE submission_id = $1 AND lease = $2 RETURNING submission_id)
     UPDATE feedback_link l SET claimed_at = muster_now() FROM held
     WHERE l.submission_id = held.submission_id AND l.id = $4 AND l.claim = $5 AND l.external_id IS NULL RETURNING l.id`,
    [item.id, item.lease, leaseMs, id, claim],
  );
  if (confirmed.length === 0) throw new LeaseLost('another process holds the lease of the creation');
}

/** This is not counted as a failure: another process may still be creating the item, so the result is not known yet. */
export class CreationInProgress extends TrackerBusy {
  override name = 'TrackerBusy';
}

/** Creates a branch for a bug or workflow report. A refusal is added to the history, and the branch is not retried. */
export async function createTrackerBranch(
  { database, tracker, base }: { database: Database; tracker: Tracker; base: string },
  item: WorkItem,
  link: Link,
): Promise<void> {
  if (!tracker.makeBranch || link.branch !== null || item.type === 'feature_request') return;
  const name = `feedback/${item.id.slice(-12)}`;
  try {
    await tracker.makeBranch(name, base);
  } catch (error) {
    if (!(error instanceof TrackerRefused)) throw error;
    await recordBranchRefusal(database, item, link, `could not create branch ${name}: ${error.message}`);
    link.branch = '';
    return;
  }
  link.branch = name;
  await database.query('system', 'UPDATE feedback_link SET branch = $2 WHERE id = $1', [link.id, name]);
}
