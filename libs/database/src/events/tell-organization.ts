import { newId, purge, type Round } from '@muster/platform';
import type { Database } from '../database';
import type { OrganizationEventEntity } from '../entities/organization-event';
import type { Transaction } from '../transactions/transaction';

/** What is told of an organization beside its machines' timelines, with the fields that its stream shows. */
type OrganizationFact = Pick<OrganizationEventEntity, 'organizationId' | 'type' | 'data'>;

/** With the change that it is of: whoever follows the organization hears of it once that is durable. */
export function tellOrganization(tx: Transaction, { organizationId, type, data }: OrganizationFact): void {
  tx.defer(
    `INSERT INTO organization_event (organization_id, transaction_id, id, type, data)
     VALUES ($1, ${currentTransaction}, $2, $3, $4)`,
    [organizationId, newId(), type, JSON.stringify(data)],
    'tell_organization',
  );
  tx.notify('organization', organizationId);
}

/** Whose a row is, for a reader who has seen some transactions' rows and not others'. */
export const currentTransaction = 'pg_current_xact_id()::text::bigint';

/** Drops what nobody can ask for any more. */
export function purgeOrganizationEvents(
  database: Database,
  { now, keepDays }: { now: Date; keepDays: number },
  round: Round,
): Promise<Record<'events', number>> {
  const before = new Date(now.getTime() - keepDays * 86_400_000);
  const events = (limit: number) =>
    database.transaction('system', (tx) =>
      tx.execute(
        `DELETE FROM organization_event WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM organization_event WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`,
        [before, limit],
      ),
    );
  return purge(round, { events });
}
