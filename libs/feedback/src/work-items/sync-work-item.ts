import type { Database } from '@muster/database';
import type { ModelParts } from '@muster/pricing';
import type { Tracker } from '@muster/trackers';
import { claimWorkItem, holdWorkItem, type Link, releaseWorkItem, TurnLost, type WorkItem } from './claim-work-item';
import { createBranch, createExternal, CreationUnderWay } from './create-external';
import { enrichWorkItem } from './enrich-work-item';
import { linkLine, markerOf } from './item-text';
import { carryStatus, type Observed, takeStatus } from './keep-status';
import { clearFailure, failLink, tellStop } from './link-failures';
import { gateOf, reopenTracker } from './tracker-state';

export interface SyncParts {
  database: Database;
  /** Those that are configured. */
  trackers: readonly Tracker[];
  timeoutMs: number;
  attempts: number;
  /** Where branches begin; null makes none. */
  baseBranch: string | null;
  /** By which a report is enriched; null has it done by rule. */
  models: Omit<ModelParts, 'database'> | null;
  modelMs: number;
}

/** What comes meanwhile is looked at at once, but not for ever. */
const maxTurns = 5;
/** More than the calls from one hold of the lease to the next take. */
const leaseOfTimeouts = 12;
const faultWaitMs = 30_000;

/**
 * One look at a work item: its issue and task are made where they are missing, linked, and their statuses brought in
 * step. It may be ended anywhere and begun again; whoever has the lease is alone at it.
 */
export async function syncWorkItem(parts: SyncParts, id: string): Promise<'synced' | 'waiting' | null> {
  for (let turn = 1; ; turn += 1) {
    const item = await claimWorkItem(parts.database, id, leaseOf(parts));
    if (!item) return null;
    let waitMs: number | null;
    try {
      waitMs = await look(parts, item);
    } catch (error) {
      if (error instanceof TurnLost) return null;
      await releaseWorkItem(parts.database, item, faultWaitMs);
      throw error;
    }
    const again = await releaseWorkItem(parts.database, item, waitMs);
    if (!again || turn >= maxTurns) return waitMs === null ? 'synced' : 'waiting';
  }
}

/** Answers after how long there is something left to do; null for nothing. */
async function look(parts: SyncParts, item: WorkItem): Promise<number | null> {
  const { database, trackers } = parts;
  if (!item.enrichedBy) await enrichWorkItem({ ...parts, leaseMs: leaseOf(parts) }, item);
  const waits: number[] = [];
  const observed: Observed[] = [];
  /** Does something at a tracker; what fails there holds up its link and nothing else. */
  const at = async (link: Link, work: () => Promise<void>): Promise<boolean> => {
    try {
      await holdWorkItem(database, item, leaseOf(parts));
      await work();
      return true;
    } catch (error) {
      if (error instanceof TurnLost) throw error;
      const waitMs = error instanceof CreationUnderWay ? error.retryAfterMs : await failLink(parts, item, link, error);
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
    const gate = await gateOf(database, tracker.name);
    if (!gate.open) {
      if (gate.stoppedAt) await tellStop(database, item, link, { stoppedAt: gate.stoppedAt, reason: gate.reason });
      waits.push(gate.waitMs);
      continue;
    }
    const done = await at(link, async () => {
      if (link.externalId === null) {
        const { timeoutMs } = parts;
        const creation = { database, tracker, leaseMs: leaseOf(parts), timeoutMs, settleMs: timeoutMs * 2 };
        await createExternal(creation, item, link, urlBeside(item, link));
      }
      if (parts.baseBranch !== null) await createBranch({ database, tracker, base: parts.baseBranch }, item, link);
      const by = { marker: markerOf(item.id), branch: link.branch || null };
      observed.push({ tracker, link, item: await tracker.read(link.externalId!, by) });
    });
    if (done && gate.stopped) await reopenTracker(database, tracker.name);
  }
  if (observed.length === 0) return soonest(waits);
  const status = await takeStatus(database, item, observed);
  for (const each of observed) {
    const done = await at(each.link, async () => {
      await join(database, item, each);
      await carryStatus(database, each, status);
    });
    if (done) await clearFailure(database, each.link);
  }
  return soonest(waits);
}

function leaseOf({ timeoutMs }: SyncParts): number {
  return timeoutMs * leaseOfTimeouts;
}

function soonest(waits: number[]): number | null {
  return waits.length === 0 ? null : Math.max(Math.min(...waits), 50);
}

/** Where the other one is, if it is there. */
function urlBeside(item: WorkItem, link: Link): string | null {
  const other = item.links.find((each) => each.tracker !== link.tracker);
  return other && !other.unlinkedAt ? other.externalUrl : null;
}

/** Each names the other. People may have rewritten the text meanwhile: it is added to what stands there. */
async function join(database: Database, item: WorkItem, { tracker, link, item: shown }: Observed): Promise<void> {
  const url = urlBeside(item, link);
  if (link.joined || !url) return;
  if (!shown.text.includes(url)) await tracker.setText(shown.externalId, `${shown.text}\n\n${linkLine(url)}`);
  await database.query('system', 'UPDATE feedback_link SET joined = true WHERE id = $1', [link.id]);
}
