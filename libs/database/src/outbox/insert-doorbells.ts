import type { Doorbell, OutboxMessage } from '@muster/contracts';
import { currentContext, newId } from '@muster/platform';
import type { Statement } from '../statement-batch';

/** How long the committing process has for its own ring before the sweep takes over. */
const graceMs = 2000;

const columns = 7;
/** One statement takes 65,535 parameters. */
const rowsAtOnce = 5000;
/** Most transactions ring once or a few times: their statements are prepared. */
const preparedUpTo = 8;

/** The doorbells with their ids, and whose request they are part of. */
export function messagesOf(doorbells: Doorbell[], organizationId: string | null): OutboxMessage[] {
  const { requestId = null, traceparent = null } = currentContext() ?? {};
  return doorbells.map(({ queue, name, payload }) => ({
    id: newId(),
    queue,
    name,
    payload: { ...payload },
    organizationId,
    requestId,
    traceparent,
  }));
}

/** The statements that write the messages' rows, with as many rows each as it takes. */
export function insertDoorbells(messages: OutboxMessage[]): Statement[] {
  const statements: Statement[] = [];
  for (let from = 0; from < messages.length; from += rowsAtOnce) {
    statements.push(insert(messages.slice(from, from + rowsAtOnce)));
  }
  return statements;
}

function insert(messages: OutboxMessage[]): Statement {
  const count = messages.length;
  return {
    name: count <= preparedUpTo ? `outbox_insert_${count}` : undefined,
    text: texts[count] ?? insertText(count),
    values: messages.flatMap(({ id, queue, name, payload, organizationId, requestId, traceparent }) => [
      id,
      queue,
      name,
      JSON.stringify(payload),
      organizationId,
      requestId,
      traceparent,
    ]),
  };
}

const texts = Array.from({ length: preparedUpTo + 1 }, (_, count) => insertText(count));

function insertText(count: number): string {
  const rows = Array.from({ length: count }, (_, row) => {
    const values = Array.from({ length: columns }, (__, column) => `$${row * columns + column + 1}`);
    return `(${values.join(', ')}, now() + interval '${graceMs} milliseconds')`;
  });
  return `INSERT INTO outbox (id, queue, name, payload, organization_id, request_id, traceparent, next_ring_at)
     VALUES ${rows.join(', ')}`;
}
