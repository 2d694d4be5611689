import { newId, purgeTables, type Round } from '@muster/platform';
import type { Database } from '../database';
import type { OrganizationEventEntity } from '../entities/organization-event';
import type { Transaction } from '../transactions/transaction';

/** An event on an organization's stream that is on no agent's timeline, with the fields that the stream contains. */
type OrganizationEvent = Pick<OrganizationEventEntity, 'organizationId' | 'type' | 'data'>;

/**
 * Inserts an organization event in the caller's transaction. Readers of the organization's stream are notified after
 * the commit.
 */
export function recordOrganizationEvent(tx: Transaction, { organizationId, type, data }: OrganizationEvent): void {
  tx.deferStatement(
    `INSERT INTO organization_event (organization_id, transaction_id, id, type, data)
     VALUES ($1, ${currentTransaction}, $2, $3, $4)`,
    [organizationId, newId(), type, JSON.stringify(data)],
    'record_organization_event',
  );
  tx.notify('organization', organizationId);
}

/**
 * SQL for the id of the transaction that writes a row. A reader needs the id, because it may have seen the rows of some
 * transactions but not of others.
 */
export const currentTransaction = 'pg_current_xact_id()::text::bigint';

/** Deletes events that are older than `keepDays`, which cannot be requested any more. */
export function purgeOrganizationEvents(
  database: Database,
  { now, keepDays }: { now: Date; keepDays: number },
  round: Round,
): Promise<Record<'events', number>> {
  const before = new Date(now.getTime() - keepDays * 86_400_000);
  const deleteEvents = (limit: number) =>
    database.transaction('system', (tx) =>
      tx.execute(
        `DELETE FROM organization_event WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM organization_event WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`,
        [before, limit],
      ),
    );
  return purgeTables(round, { events: deleteEvents });
}
