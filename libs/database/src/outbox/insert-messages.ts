/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import type { QueueMessage, OutboxMessage } from '@muster/contracts';
import { getRequestContext, newId } from '@muster/platform';
import { buildStatementForRow, buildRowStatements } from '../transactions/row-statement';
import type { RowStatement, Statement } from '../transactions/statement-batch';

/** Time in milliseconds after which the sweep publishes a message that the committing process has not published. */
const graceMs = 2000;

/** Columns of a message in a row of parameters, with their types. */
export const messageColumns = {
  ...{ message_id: 'uuid', queue: 'text', message_name: 'text', message_payload: 'jsonb' },
  ...{ message_organization_id: 'uuid', message_request_id: 'text', message_traceparent: 'text' },
};
const columnNames = Object.keys(messageColumns);
const columnTypes = Object.values(messageColumns);
const columns = columnTypes.length;
const grace = `now() + interval '${graceMs} milliseconds'`;
const into = 'INSERT INTO outbox (id, queue, name, payload, organization_id, request_id, traceparent, next_publish_at)';
/** Maximum number of rows per statement, because a statement can have 65,535 parameters. */
const insertBatchSize = 5000;
/** Maximum number of rows for which the statement is prepared. Most transactions enqueue only a few messages. */
const maxPreparedRows = 8;

/** A condition for the insertion of a message, as SQL. It has a name, so that its statement is prepared. */
export interface Condition {
  name: string;
  /** Names and types of the values. The condition's SQL finds them in the row `input`. */
  columns: Readonly<Record<string, string>>;
  /** CTE that the statement executes and to which the condition may refer. `rows` is a table expression for `input`. */
  with?: (rows: string) => string;
  /** FROM item that has one row if the condition holds for `input`. It begins with LATERAL if it refers to `input`. */
  holds: string;
}

/** Creates the messages with ids and the context of the current request. */
export function createOutboxMessages(messages: QueueMessage[], organizationId: string | null): OutboxMessage[] {
  const { requestId = null, traceparent = null } = getRequestContext() ?? {};
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
export function buildMessageInsert(messages: OutboxMessage[]): Statement[] {
  const statements: Statement[] = [];
  for (let from = 0; from < messages.length; from += insertBatchSize) {
    statements.push(buildInsertStatement(messages.slice(from, from + insertBatchSize)));
  }
  return statements;
}

function buildInsertStatement(messages: OutboxMessage[]): Statement {
  const count = messages.length;
  if (count === 1) return buildStatementForRow(messageRows, getMessageValues(messages[0]!));
  return {
    name: count <= maxPreparedRows ? `outbox_insert_${count}` : undefined,
    text: texts[count] ?? insertMessagesSql(count),
    values: messages.flatMap(getMessageValues),
  };
}

/**
 * Returns the statement that inserts the message's row if the condition holds. If it does, the statement returns a row.
 */
export function buildConditionalMessageInsert(
  message: OutboxMessage,
  condition: Condition,
  values: readonly unknown[],
): Statement {
  return buildStatementForRow(buildConditionalInsertStatement(condition), [...values, ...getMessageValues(message)]);
}

const conditionalStatements = new WeakMap<Condition, RowStatement>();

function buildConditionalInsertStatement(condition: Condition): RowStatement {
  const existing = conditionalStatements.get(condition);
  if (existing) return existing;
  const { name, columns, with: before, holds } = condition;
  const created = buildRowStatements(`outbox_insert_${name}`, { ...columns, ...messageColumns }, (rows) => {
    const inserted = `${into}
      SELECT ${columnNames.map((column) => `input.${column}`).join(', ')}, ${grace} FROM ${rows} CROSS JOIN ${holds}`;
    return `WITH ${before ? `${before(rows)}, ` : ''}inserted AS (${inserted} RETURNING id)
      SELECT input.member FROM inserted JOIN ${rows} ON input.message_id = inserted.id`;
  });
  conditionalStatements.set(condition, created);
  return created;
}

/**
 * Returns the part of a single statement that inserts a message's row for each row of `found`, which has the columns of
 * `messageColumns`. The caller publishes the messages (`Database.publish`).
 */
export function insertFoundMessagesSql(found: string): string {
  return `${into} SELECT ${columnNames.map((column) => `${found}.${column}`).join(', ')}, ${grace} FROM ${found}`;
}

export function createMessageWithValues(
  message: QueueMessage,
  organizationId: string,
): { message: OutboxMessage; values: unknown[] } {
  const [created] = createOutboxMessages([message], organizationId);
  return { message: created!, values: getMessageValues(created!) };
}

function getMessageValues({
  id,
  queue,
  name,
  payload,
  organizationId,
  requestId,
  traceparent,
}: OutboxMessage): unknown[] {
  return [id, queue, name, JSON.stringify(payload), organizationId, requestId, traceparent];
}

const messageRows: RowStatement = {
  one: { name: 'outbox_insert_1', text: insertMessagesSql(1) },
  many: {
    name: 'outbox_insert_set',
    text: `${into} SELECT m.*, ${grace} FROM unnest(${columnTypes.map((type, at) => `$${at + 1}::${type}[]`).join(', ')}) AS m`,
  },
};
const texts = Array.from({ length: maxPreparedRows + 1 }, (_, count) => insertMessagesSql(count));

function insertMessagesSql(count: number): string {
  const rows = Array.from({ length: count }, (_, row) => {
    const values = Array.from({ length: columns }, (__, column) => `$${row * columns + column + 1}`);
    return `(${values.join(', ')}, ${grace})`;
  });
  return `${into} VALUES ${rows.join(', ')}`;
}
