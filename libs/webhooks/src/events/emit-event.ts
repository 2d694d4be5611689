import type { OutboxMessage } from '@muster/contracts';
import { insertMessageFromSql, messageWithValues, type Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import type { TypedDetails, TypedEvents } from './event-details';

/** An event that a transaction emits, about one or several resources. Each resource gets its own row. */
export type WebhookEvent = TypedEvents & {
  organizationId: string;
  /** Key of an event that is emitted only once per organization. */
  once?: string;
  /** SQL condition, checked at commit. If it is false, nothing is emitted. Its values start at $7. */
  where?: { name: string; sql: string; values: unknown[] };
};

/**
 * Inserts the event and a `fan-out` message when the transaction commits, if an endpoint of the organization wants the
 * event. Costs no extra round trip; if no endpoint wants the event, one index lookup.
 */
export function emitEvent(tx: Transaction, event: WebhookEvent): void {
  const { organizationId, type, subjects, once = null, where } = event;
  if (subjects.length === 0) return;
  const rows = subjects.map(({ id, details }) => [newId(), id, details && JSON.stringify(details)]);
  const isOne = rows.length === 1;
  tx.enqueueWhere(
    {
      name: `webhook_event${isOne ? '' : 's'}${where ? `_${where.name}` : ''}`,
      with: where ? insertEvents(isOne ? one : many, where.sql) : isOne ? insertOne : insertMany,
      sql: 'EXISTS (SELECT FROM event)',
      values: [
        organizationId,
        type,
        ...(isOne ? rows[0]! : [0, 1, 2].map((column) => rows.map((row) => row[column]))),
        once,
        ...(where?.values ?? []),
      ],
    },
    { queue: 'webhooks', name: 'fan-out', payload: { organizationId } },
  );
}

/** Most events are single: this form allows a cached plan that does not depend on the number of rows. */
const one = '(VALUES ($3::uuid, $4::uuid, $5::text, 1))';
const many = 'unnest($3::uuid[], $4::uuid[], $5::text[]) WITH ORDINALITY';

/**
 * SQL that inserts the rows of the events. The caller has locked the row of the resource, so the statement sees the
 * previous event and the sequence numbers of a resource increase. They start with the current time, so that they still
 * increase after the previous events were purged.
 */
function insertEvents(from: string, where: string): string {
  return `WITH event AS (
    INSERT INTO webhook_event (id, organization_id, type, subject_id, details, once, sequence)
    SELECT e.id, $1::uuid, $2::text, e.subject_id, e.details::jsonb, $6::text,
      ${nextSequence('e.subject_id')} + e.ordinal - 1
    FROM ${from} AS e (id, subject_id, details, ordinal)
    WHERE ${isSubscribedSql('$1::uuid', '$2::text')} AND (${where})
    ON CONFLICT DO NOTHING RETURNING id)`;
}

const insertOne = insertEvents(one, 'true');
const insertMany = insertEvents(many, 'true');

function nextSequence(subject: string): string {
  return `GREATEST((extract(epoch FROM muster_clock()) * 1000)::bigint, 1 + COALESCE(
    (SELECT sequence FROM webhook_event p WHERE p.subject_id = ${subject} ORDER BY sequence DESC LIMIT 1), 0))`;
}

/** SQL condition: whether an endpoint of the organization wants events of the type. Both parameters are SQL. */
export function isSubscribedSql(organization: string, type: string): string {
  return `EXISTS (SELECT FROM webhook_endpoint w WHERE w.organization_id = ${organization} AND w.enabled
    AND w.events && ARRAY['*', ${type}])`;
}

/**
 * Does the same as `emitEvent`, as CTEs of a statement that is a transaction of its own. `webhook_event_inserted` has a
 * row if the event was inserted. Its values (`valuesOfEvent`) follow the first `offset` values of the statement.
 */
export function eventPartsSql({ source, subject, details, organization, type, offset }: EventParts): string {
  return `webhook_event_inserted AS (
      INSERT INTO webhook_event (id, organization_id, type, subject_id, details, sequence)
      SELECT $${offset + 1}::uuid, ${organization}, '${type}', ${subject}, '${JSON.stringify(details)}'::jsonb,
        ${nextSequence(subject)} FROM ${source}
      WHERE ${isSubscribedSql(organization, `'${type}'`)} RETURNING id),
    webhook_event_enqueued AS (${insertMessageFromSql('webhook_event_inserted', offset + 1)})`;
}

type EventParts = TypedDetails & {
  /** CTE that has one row if the event is to be emitted. */
  source: string;
  subject: string;
  organization: string;
  offset: number;
};

export function valuesOfEvent(organizationId: string): { values: unknown[]; message: OutboxMessage } {
  const { message, values } = messageWithValues(
    { queue: 'webhooks', name: 'fan-out', payload: { organizationId } },
    organizationId,
  );
  return { values: [newId(), ...values], message };
}
