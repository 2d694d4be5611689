import type { Database, FeedbackLinkEntity, Transaction } from '@muster/database';
import { scheduleWorkItemSync } from '../work-items/schedule-work-item-sync';
import type { Delivery, Reference } from './read-delivery';

const isExpired = `d.received_at < muster_now() - interval '10 minutes'`;
/** Retention of delivery ids; trackers stop resending after a few days. */
const retentionDays = 30;

type Verdict = { accepted: boolean; reason?: 'unknown_reference' | 'duplicate' };

const duplicate: Verdict = { accepted: true, reason: 'duplicate' };

/** Enqueues a sync for every work item that a tracker webhook refers to, once per webhook delivery. */
export function receiveTrackerWebhook(database: Database, delivery: Delivery): Promise<Verdict> {
  return database.transaction('system', async (tx) => {
    const ids = await findReferencedSubmissions(tx, delivery);
    if (ids.length === 0) {
      // An item that is not found may have been unlinked by the sync that an earlier copy of this delivery caused.
      return (await wasDeliveryReceived(tx, delivery)) ? duplicate : { accepted: false, reason: 'unknown_reference' };
    }
    const inserted = await tx.execute(
      `INSERT INTO feedback_delivery AS d (tracker, delivery_id, received_at) VALUES ($1, $2, muster_now())
       ON CONFLICT (tracker, delivery_id) DO UPDATE SET received_at = excluded.received_at
       WHERE $3 AND ${isExpired}`,
      [delivery.tracker, delivery.deliveryId, delivery.byContent],
    );
    if (inserted === 0) return duplicate;
    for (const id of ids) await scheduleWorkItemSync(tx, id);
    return { accepted: true };
  });
}

async function wasDeliveryReceived(tx: Transaction, { tracker, deliveryId, byContent }: Delivery): Promise<boolean> {
  const received = await tx.query(
    `SELECT FROM feedback_delivery d WHERE tracker = $1 AND delivery_id = $2 AND NOT ($3 AND ${isExpired})`,
    [tracker, deliveryId, byContent],
  );
  return received.length > 0;
}

async function findReferencedSubmissions(tx: Transaction, { tracker, references }: Delivery): Promise<string[]> {
  const ids = new Set<string>();
  for (const reference of references) {
    const [column, value] = getReferenceColumn(reference);
    const links = await tx.query<Pick<FeedbackLinkEntity, 'submissionId'>>(
      `SELECT submission_id FROM feedback_link
       WHERE tracker = $1 AND ${column} = $2 AND unlinked_at IS NULL
         AND ($3::text IS NULL OR lower(scope) = lower($3))`,
      [tracker, value, reference.scope],
    );
    for (const { submissionId } of links) ids.add(submissionId);
  }
  return [...ids].sort();
}

function getReferenceColumn(reference: Reference): [column: string, value: string] {
  if ('branch' in reference) return ['branch', reference.branch];
  if ('submissionId' in reference) return ['submission_id', reference.submissionId];
  return ['external_id', reference.externalId];
}

/** Deletes the ids of deliveries that no tracker sends again. */
export async function purgeDeliveries(database: Database): Promise<{ dropped: number }> {
  const rows = await database.query(
    'system',
    `DELETE FROM feedback_delivery WHERE received_at < muster_now() - ${retentionDays} * interval '1 day'
     RETURNING tracker`,
  );
  return { dropped: rows.length };
}
