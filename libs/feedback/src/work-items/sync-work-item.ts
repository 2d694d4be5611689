import type { Database } from '@muster/database';
import type { ModelParts } from '@muster/pricing';
import type { Tracker } from '@muster/trackers';
import {
  leaseWorkItem,
  renewWorkItemLease,
  type Link,
  releaseWorkItem,
  LeaseLost,
  type WorkItem,
} from './lease-work-item';
import { createTrackerBranch, createTrackerItem, CreationInProgress } from './create-tracker-item';
import { enrichWorkItem } from './enrich-work-item';
import { formatLinkLine, buildMarker } from './item-text';
import { writeStatusToTracker, type Observed, applyTrackerStatus } from './sync-status';
import { clearLinkFailure, recordLinkFailure, recordTrackerStop } from './link-failures';
import { readTrackerAvailability, resumeTrackerSync } from './tracker-state';

export interface SyncParts {
  database: Database;
  /** The configured trackers. */
  trackers: readonly Tracker[];
  timeoutMs: number;
  attempts: number;
  /** Branch from which branches are created; null creates none. */
  baseBranch: string | null;
  /** Models that enrich reports; null enriches them by rules. */
  models: Omit<ModelParts, 'database'> | null;
  modelMs: number;
}

/** Maximum number of consecutive syncs of an item, if each is requested during the previous one. */
const maxTurns = 5;
/** Lease duration as a multiple of the call timeout; covers all calls between two extensions of the lease. */
const leaseOfTimeouts = 12;
const errorWaitMs = 30_000;

/**
 * Syncs a work item: creates its missing issue and task, links them, and synchronizes their statuses. A sync can be
 * interrupted at any point and repeated. Only the process that holds the lease syncs the item.
 */
export async function syncWorkItem(parts: SyncParts, id: string): Promise<'synced' | 'waiting' | null> {
  for (let turn = 1; ; turn += 1) {
    const item = await leaseWorkItem(parts.database, id, computeLeaseMs(parts));
    if (!item) return null;
    let waitMs: number | null;
    try {
      waitMs = await syncWorkItemOnce(parts, item);
    } catch (error) {
      if (error instanceof LeaseLost) return null;
      await releaseWorkItem(parts.database, item, errorWaitMs);
      throw error;
    }
    const again = await releaseWorkItem(parts.database, item, waitMs);
    if (!again || turn >= maxTurns) return waitMs === null ? 'synced' : 'waiting';
  }
}

/** Returns the delay until the next necessary sync; null if everything is done. */
async function syncWorkItemOnce(parts: SyncParts, item: WorkItem): Promise<number | null> {
  const { database, trackers } = parts;
  if (!item.enrichedBy) await enrichWorkItem({ ...parts, leaseMs: computeLeaseMs(parts) }, item);
  const waits: number[] = [];
  const observed: Observed[] = [];
  /** Runs `work` for one tracker. A failure affects only that tracker’s link. */
  const runForTracker = async (link: Link, work: () => Promise<void>): Promise<boolean> => {
    try {
      await renewWorkItemLease(database, item, computeLeaseMs(parts));
      await work();
      return true;
    } catch (error) {
      if (error instanceof LeaseLost) throw error;
      const waitMs =
        error instanceof CreationInProgress ? error.retryAfterMs : await recordLinkFailure(parts, item, link, error);
      if (waitMs !== null) waits.push(waitMs);
      return false;
    }
  };
  for (const tracker of trackers) {
    const link = item.links.find((each) => each.tracker === tracker.name);
    if (!link || link.unlinkedAt || link.deadAt || (link.scope ?? tracker.scope) !== tracker.scope) continue;
    if (link.waitMs !== null && link.waitMs > 0) {
      waits.push(link.waitMs);
      continue;
    }
    const availability = await readTrackerAvailability(database, tracker.name);
    if (!availability.open) {
      if (availability.stoppedAt)
        await recordTrackerStop(database, item, link, {
          stoppedAt: availability.stoppedAt,
          reason: availability.reason,
        });
      waits.push(availability.waitMs);
      continue;
    }
    const done = await runForTracker(link, async () => {
      if (link.externalId === null) {
        const { timeoutMs } = parts;
        const creation = { database, tracker, leaseMs: computeLeaseMs(parts), timeoutMs, inProgressMs: timeoutMs * 2 };
        await createTrackerItem(creation, item, link, findOtherUrl(item, link));
      }
      if (parts.baseBranch !== null)
        await createTrackerBranch({ database, tracker, base: parts.baseBranch }, item, link);
      const by = { marker: buildMarker(item.id), branch: link.branch || null };
      observed.push({ tracker, link, item: await tracker.readItem(link.externalId!, by) });
    });
    if (done && availability.stopped) await resumeTrackerSync(database, tracker.name);
  }
  if (observed.length === 0) return getSoonestWaitMs(waits);
  const status = await applyTrackerStatus(database, item, observed);
  for (const each of observed) {
    const done = await runForTracker(each.link, async () => {
      await addOtherUrlToItem(database, item, each);
      await writeStatusToTracker(database, each, status);
    });
    if (done) await clearLinkFailure(database, each.link);
  }
  return getSoonestWaitMs(waits);
}

function computeLeaseMs({ timeoutMs }: SyncParts): number {
  return timeoutMs * leaseOfTimeouts;
}

function getSoonestWaitMs(waits: number[]): number | null {
  return waits.length === 0 ? null : Math.max(Math.min(...waits), 50);
}

/** Returns the URL of the item in the other tracker; null if there is none. */
function findOtherUrl(item: WorkItem, link: Link): string | null {
  const other = item.links.find((each) => each.tracker !== link.tracker);
  return other && !other.unlinkedAt ? other.externalUrl : null;
}

/** Adds the URL of the other item to the current text, which people may have edited. */
async function addOtherUrlToItem(
  database: Database,
  item: WorkItem,
  { tracker, link, item: current }: Observed,
): Promise<void> {
  const url = findOtherUrl(item, link);
  if (link.joined || !url) return;
  if (!current.text.includes(url))
    await tracker.setText(current.externalId, `${current.text}\n\n${formatLinkLine(url)}`);
  await database.query('system', 'UPDATE feedback_link SET joined = true WHERE id = $1', [link.id]);
}
