import type { OutboxMessage } from '@muster/contracts';
import {
  type Condition,
  insertFoundMessagesSql,
  messageColumns,
  createMessageWithValues,
  type Transaction,
} from '@muster/database';
import { newId } from '@muster/platform';
import type { TypedDetails, TypedEvents } from './event-details';

/** An event that a transaction emits, about one or several resources. Each resource gets its own row. */
export type WebhookEvent = TypedEvents & {
  organizationId: string;
  /** Key of an event that is emitted only once per organization. */
  once?: string;
  /** Channels that get the event even if they are not subscribed to its type, such as the channels of an alert rule. */
  channelIds?: string[];
  /** SQL condition about a subject (`e.subject_id`), checked at commit. If it is false, nothing is emitted. */
  where?: { name: string; sql: string };
};

/**
 * Inserts the event and a `fan-out` message when the transaction commits, if an endpoint or an alert rule of the
 * organization wants the event. Costs no extra round trip. If none wants the event, two index lookups are all that it
 * costs.
 */
export function emitEvent(tx: Transaction, event: WebhookEvent): void {
  const { organizationId, type, subjects, once = null, where, channelIds = [] } = event;
  if (subjects.length === 0) return;
  // An event about several resources needs a separate transaction, because its sequence numbers would be wrong in a
  // shared one.
  if (subjects.length > 1) tx.requireOwnConnection();
  const channels = channelIds.length > 0 ? { channel_ids: channelIds } : {};
  const rows = subjects.map(({ id, details }) => ({ id: newId(), subject_id: id, details, ...channels }));
  tx.enqueueIf(buildWantedCondition(where), [organizationId, type, JSON.stringify(rows), once], {
    queue: 'webhooks',
    name: 'fan-out',
    payload: { organizationId },
  });
}

const conditions = new Map<string, Condition>();

function buildWantedCondition(where?: WebhookEvent['where']): Condition {
  const name = where ? `webhook_event_${where.name}` : 'webhook_event';
  const existing = conditions.get(name);
  if (existing) return existing;
  const condition = {
    name,
    columns: { organization_id: 'uuid', type: 'text', subjects: 'jsonb', once: 'text' },
    with: (rows: string) => insertEventsSql(rows, where?.sql ?? 'true'),
    holds: 'LATERAL (SELECT FROM event WHERE event.member = input.member LIMIT 1) emitted',
  };
  conditions.set(name, condition);
  return condition;
}

/**
 * SQL that inserts the rows of the events. The caller has locked the row of the resource, so the statement sees the
 * previous event and the sequence numbers of a resource increase. They start with the current time, so that they still
 * increase after the previous events were purged.
 */
function insertEventsSql(rows: string, where: string): string {
  return `wanted AS (
    SELECT input.member, input.organization_id, input.type, input.once, e.id, e.subject_id, e.details, e.channel_ids, input.member + e.ordinal - 2 AS sequence_offset
    FROM ${rows} CROSS JOIN LATERAL ROWS FROM (
      jsonb_to_recordset(input.subjects) AS (id uuid, subject_id uuid, details jsonb, channel_ids uuid[])) WITH ORDINALITY
      AS e (id, subject_id, details, channel_ids, ordinal)
    WHERE (${isEventWantedSql('input.organization_id', 'input.type')} OR e.channel_ids IS NOT NULL) AND (${where})),
  inserted_event AS (
    INSERT INTO webhook_event (id, organization_id, type, subject_id, details, once, channel_ids, sequence)
    SELECT e.id, e.organization_id, e.type, e.subject_id, e.details, e.once, e.channel_ids, ${nextEventSequenceSql('e.subject_id')} + e.sequence_offset
    FROM wanted e
    ON CONFLICT DO NOTHING RETURNING id),
  event AS (SELECT wanted.member FROM wanted JOIN inserted_event ON inserted_event.id = wanted.id)`;
}

function nextEventSequenceSql(subject: string): string {
  return `GREATEST((extract(epoch FROM muster_clock()) * 1000)::bigint, 1 + COALESCE(
    (SELECT sequence FROM webhook_event p WHERE p.subject_id = ${subject} ORDER BY sequence DESC LIMIT 1), 0))`;
}

/** SQL condition: whether an endpoint of the organization wants events of the type. Both parameters are SQL. */
export function isEventSubscribedSql(organization: string, type: string): string {
  return `EXISTS (SELECT FROM webhook_endpoint w WHERE w.organization_id = ${organization} AND w.enabled
    AND w.events && ARRAY['*', ${type}])`;
}

/**
 * SQL condition: whether an endpoint wants events of the type, or an alert rule that is on evaluates them. Postgres
 * looks for a rule only if no endpoint wants the event.
 */
function isEventWantedSql(organization: string, type: string): string {
  return `(${isEventSubscribedSql(organization, type)} OR EXISTS (SELECT FROM alert_rule r
    WHERE r.organization_id = ${organization} AND r.enabled AND r.event_types @> ARRAY[${type}]))`;
}

/**
 * Does the same as `emitEvent` for each row of the CTE `source` (organization_id, job_id and `eventColumns`), as CTEs
 * of a statement that is a transaction of its own. `webhook_event_inserted` has the ids of the inserted events.
 */
export function emitEventPartsSql(source: string, { type, details }: TypedDetails): string {
  return `webhook_event_inserted AS (
      INSERT INTO webhook_event (id, organization_id, type, subject_id, details, sequence)
      SELECT event_id, organization_id, '${type}', job_id, '${JSON.stringify(details)}'::jsonb,
        ${nextEventSequenceSql(`${source}.job_id`)} FROM ${source}
      WHERE ${isEventWantedSql(`${source}.organization_id`, `'${type}'`)} RETURNING id),
    webhook_event_message AS (
      SELECT ${source}.* FROM ${source} JOIN webhook_event_inserted ON webhook_event_inserted.id = ${source}.event_id),
    webhook_event_enqueued AS (${insertFoundMessagesSql('webhook_event_message')})`;
}

/** Columns of an event in a row of parameters, with their types; see `getEventValues`. */
export const eventColumns = { event_id: 'uuid', ...messageColumns };

export function getEventValues(organizationId: string): { values: unknown[]; message: OutboxMessage } {
  const { message, values } = createMessageWithValues(
    { queue: 'webhooks', name: 'fan-out', payload: { organizationId } },
    organizationId,
  );
  return { values: [newId(), ...values], message };
}
