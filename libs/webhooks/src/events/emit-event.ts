import type { OutboxMessage } from '@muster/contracts';
import { insertFrom, messageWithValues, type Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import type { TypedDetails, TypedFacts } from './fact-details';

/** A fact, as the transaction that makes it records it; of several things it is a fact of each. */
export type WebhookFact = TypedFacts & {
  organizationId: string;
  /** Which fact it is, where it is told once however often it comes to pass. */
  once?: string;
  /** Holds the fact back where it is not one, asked when the transaction commits; its values stand from $7 on. */
  where?: { name: string; sql: string; values: unknown[] };
};

/**
 * Writes the fact with the transaction's commit, where an endpoint of the organization wants it, and a message that has
 * it told. It costs no round trip; where nobody listens, one look at an index.
 */
export function emitEvent(tx: Transaction, fact: WebhookFact): void {
  const { organizationId, type, of, once = null, where } = fact;
  if (of.length === 0) return;
  const rows = of.map(({ id, details }) => [newId(), id, details && JSON.stringify(details)]);
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

/** Most facts come by themselves: a plan that does not depend on how many there are is kept. */
const one = '(VALUES ($3::uuid, $4::uuid, $5::text, 1))';
const many = 'unnest($3::uuid[], $4::uuid[], $5::text[]) WITH ORDINALITY';

/**
 * The facts' rows. Whoever makes a fact of a thing holds its row, so each sees the one before: of one thing the numbers
 * grow. They begin with the time, so that they still do when what was before is no longer kept.
 */
function insertEvents(from: string, where: string): string {
  return `WITH event AS (
    INSERT INTO webhook_event (id, organization_id, type, subject_id, details, once, sequence)
    SELECT e.id, $1::uuid, $2::text, e.subject_id, e.details::jsonb, $6::text,
      ${nextSequence('e.subject_id')} + e.place - 1
    FROM ${from} AS e (id, subject_id, details, place)
    WHERE ${isWanted('$1::uuid', '$2::text')} AND (${where})
    ON CONFLICT DO NOTHING RETURNING id)`;
}

const insertOne = insertEvents(one, 'true');
const insertMany = insertEvents(many, 'true');

function nextSequence(subject: string): string {
  return `GREATEST((extract(epoch FROM muster_clock()) * 1000)::bigint, 1 + COALESCE(
    (SELECT sequence FROM webhook_event p WHERE p.subject_id = ${subject} ORDER BY sequence DESC LIMIT 1), 0))`;
}

/** Whether an endpoint of the organization wants facts of the type, both as SQL. */
export function isWanted(organization: string, type: string): string {
  return `EXISTS (SELECT FROM webhook_endpoint w WHERE w.organization_id = ${organization} AND w.enabled
    AND w.events && ARRAY['*', ${type}])`;
}

/**
 * As emitEvent, as parts of a statement that is a transaction by itself: `webhook_event_told` has a row where the fact
 * was written. Its values (`valuesOfEvent`) come behind so many others.
 */
export function eventParts({ of, subject, details, organization, type, behind }: EventParts): string {
  return `webhook_event_told AS (
      INSERT INTO webhook_event (id, organization_id, type, subject_id, details, sequence)
      SELECT $${behind + 1}::uuid, ${organization}, '${type}', ${subject}, '${JSON.stringify(details)}'::jsonb,
        ${nextSequence(subject)} FROM ${of}
      WHERE ${isWanted(organization, `'${type}'`)} RETURNING id),
    webhook_event_rung AS (${insertFrom('webhook_event_told', behind + 1)})`;
}

type EventParts = TypedDetails & {
  /** What has one row where the fact is one. */
  of: string;
  subject: string;
  organization: string;
  behind: number;
};

export function valuesOfEvent(organizationId: string): { values: unknown[]; message: OutboxMessage } {
  const { message, values } = messageWithValues(
    { queue: 'webhooks', name: 'fan-out', payload: { organizationId } },
    organizationId,
  );
  return { values: [newId(), ...values], message };
}
