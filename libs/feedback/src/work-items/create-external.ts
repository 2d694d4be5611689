import type { Database } from '@muster/database';
import { TrackerBusy, TrackerRefused, type Tracker } from '@muster/trackers';
import type { Link, WorkItem } from './claim-work-item';
import { labelsOf, markerOf, textOf } from './item-text';

/** Clocks differ, and nobody's by more than this. */
const skewMs = 24 * 3_600_000;

interface CreateParts {
  database: Database;
  tracker: Tracker;
  /** A creation without an answer may still be under way for so long. */
  settleMs: number;
}

/**
 * The work item's one issue or task: found by its marker, or made. The claim is a row before the call, so that after a
 * crash or a lost answer the next one first lets the call settle, and then looks for what it has left.
 */
export async function createExternal(
  { database, tracker, settleMs }: CreateParts,
  item: WorkItem,
  link: Link,
  linkedTo: string | null,
): Promise<void> {
  const [claim] = await database.query<{ firstClaimedAt: Date }>(
    'system',
    `UPDATE feedback_link SET first_claimed_at = COALESCE(first_claimed_at, now()), claimed_at = now()
     WHERE id = $1 AND external_id IS NULL
       AND (claimed_at IS NULL OR claimed_at < now() - $2 * interval '1 millisecond')
     RETURNING first_claimed_at`,
    [link.id, settleMs],
  );
  if (!claim) throw new CreationUnderWay(`${tracker.name}: a creation may still be under way`, settleMs);
  const since = new Date(claim.firstClaimedAt.getTime() - skewMs);
  const found =
    (await tracker.find(markerOf(item.id), since)) ??
    (await tracker.create({ title: item.title, text: textOf(item, linkedTo), labels: labelsOf(item) }));
  const { externalId, url } = found;
  const joined = linkedTo !== null && found.text.includes(linkedTo);
  await database.query(
    'system',
    `UPDATE feedback_link SET scope = $2, external_id = $3, external_url = $4, joined = $5, claimed_at = NULL
     WHERE id = $1`,
    [link.id, tracker.scope, externalId, url, joined],
  );
  Object.assign(link, { scope: tracker.scope, externalId, externalUrl: url, joined });
}

/** No failure: the answer is not known yet. */
export class CreationUnderWay extends TrackerBusy {
  override name = 'TrackerBusy';
}

/** A branch for what is to be mended. One that the tracker refuses is told once and not asked for again. */
export async function createBranch(
  { database, tracker, base }: { database: Database; tracker: Tracker; base: string },
  item: WorkItem,
  link: Link,
): Promise<void> {
  if (!tracker.makeBranch || link.branch !== null || item.type === 'feature_request') return;
  const name = `feedback/${item.id.slice(-12)}`;
  let made = true;
  try {
    await tracker.makeBranch(name, base);
  } catch (error) {
    if (!(error instanceof TrackerRefused)) throw error;
    made = false;
    await database.query('system', 'UPDATE feedback_link SET error = $2 WHERE id = $1', [link.id, error.message]);
  }
  link.branch = made ? name : '';
  await database.query('system', 'UPDATE feedback_link SET branch = $2 WHERE id = $1', [link.id, link.branch]);
}
