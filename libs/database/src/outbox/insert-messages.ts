/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import type { QueueMessage, OutboxMessage } from '@muster/contracts';
import { currentContext, newId } from '@muster/platform';
import { rowStatement } from '../transactions/row-statement';
import type { RowWriter, Statement } from '../transactions/statement-batch';

/** Time in milliseconds for the committing process to publish a message, before the sweep does. */
const graceMs = 2000;

const columnTypes = ['uuid', 'text', 'text', 'jsonb', 'uuid', 'text', 'text'];
const columns = columnTypes.length;
const grace = `now() + interval '${graceMs} milliseconds'`;
const into = 'INSERT INTO outbox (id, queue, name, payload, organization_id, request_id, traceparent, next_publish_at)';
/** Maximum number of rows per statement, because a statement can have 65,535 parameters. */
const insertBatchSize = 5000;
/** Maximum number of rows for which the statement is prepared. Most transactions enqueue only a few messages. */
const maxPreparedRows = 8;

/** An SQL condition with its parameters from $1 on. It has a name, so that its statement is prepared. */
export interface Condition {
  name: string;
  /** `WITH …` clause that the statement executes and to which the condition may refer. */
  with?: string;
  sql: string;
  values: readonly unknown[];
}

/** Creates the messages with ids and the context of the current request. */
export function messagesOf(messages: QueueMessage[], organizationId: string | null): OutboxMessage[] {
  const { requestId = null, traceparent = null } = currentContext() ?? {};
  return messages.map(({ queue, name, payload }) => ({
    id: newId(),
    queue,
    name,
    payload: { ...payload },
    organizationId,
    requestId,
    traceparent,
  }));
}

/** Returns the statements that insert the messages' rows. */
export function insertMessages(messages: OutboxMessage[]): Statement[] {
  const statements: Statement[] = [];
  for (let from = 0; from < messages.length; from += insertBatchSize) {
    statements.push(insert(messages.slice(from, from + insertBatchSize)));
  }
  return statements;
}

function insert(messages: OutboxMessage[]): Statement {
  const count = messages.length;
  if (count === 1) return rowStatement(messageRows, valuesOf(messages[0]!));
  return {
    name: count <= maxPreparedRows ? `outbox_insert_${count}` : undefined,
    text: texts[count] ?? insertText(count),
    values: messages.flatMap(valuesOf),
  };
}

/** Returns the statement that inserts the message's row if the condition holds. */
export function insertWhere(message: OutboxMessage, { name, with: before, sql, values }: Condition): Statement {
  return {
    name: `outbox_insert_${name}`,
    text: `${before ? `${before} ` : ''}${into} SELECT ${ownColumns(values.length)}, ${grace} WHERE ${sql}`,
    values: [...values, ...valuesOf(message)],
  };
}

/**
 * Returns the part of a single statement that inserts the message's row for each row of `found`, which has at most one.
 * The message's parameters follow `offset` others. The caller publishes the message (`Database.publish`).
 */
export function insertMessageFromSql(found: string, offset: number): string {
  return `${into} SELECT ${ownColumns(offset)}, ${grace} FROM ${found}`;
}

export function messageWithValues(
  message: QueueMessage,
  organizationId: string,
): { message: OutboxMessage; values: unknown[] } {
  const [created] = messagesOf([message], organizationId);
  return { message: created!, values: valuesOf(created!) };
}

function ownColumns(offset: number): string {
  return columnTypes.map((type, at) => `$${offset + at + 1}::${type}`).join(', ');
}

function valuesOf({ id, queue, name, payload, organizationId, requestId, traceparent }: OutboxMessage): unknown[] {
  return [id, queue, name, JSON.stringify(payload), organizationId, requestId, traceparent];
}

const messageRows: RowWriter = {
  one: { name: 'outbox_insert_1', text: insertText(1) },
  many: {
    name: 'outbox_insert_set',
    text: `${into} SELECT m.*, ${grace} FROM unnest(${columnTypes.map((type, at) => `$${at + 1}::${type}[]`).join(', ')}) AS m`,
  },
};
const texts = Array.from({ length: maxPreparedRows + 1 }, (_, count) => insertText(count));

function insertText(count: number): string {
  const rows = Array.from({ length: count }, (_, row) => {
    const values = Array.from({ length: columns }, (__, column) => `$${row * columns + column + 1}`);
    return `(${values.join(', ')}, ${grace})`;
  });
  return `${into} VALUES ${rows.join(', ')}`;
}
