import type { Doorbell, OutboxMessage } from '@muster/contracts';
import { currentContext, newId } from '@muster/platform';

/** How long the committing process has for its own ring before the sweep takes over. */
const graceMs = 2000;

const columns = 7;

interface Writer {
  execute(sql: string, parameters: unknown[]): Promise<number>;
}

/** One statement for any number of doorbells. */
export async function insertDoorbells(
  writer: Writer,
  doorbells: Doorbell[],
  organizationId: string | null,
): Promise<OutboxMessage[]> {
  if (doorbells.length === 0) return [];
  const { requestId = null, traceparent = null } = currentContext() ?? {};
  const messages = doorbells.map(({ queue, name, payload }): OutboxMessage => ({
    id: newId(),
    queue,
    name,
    payload: { ...payload },
    organizationId,
    requestId,
    traceparent,
  }));
  for (let from = 0; from < messages.length; from += 5000) await insert(writer, messages.slice(from, from + 5000));
  return messages;
}

async function insert(writer: Writer, messages: OutboxMessage[]): Promise<void> {
  const rows = messages.map((_, row) => {
    const at = row * columns;
    const values = Array.from({ length: columns }, (__, column) => `$${at + column + 1}`);
    return `(${values.join(', ')}, now() + interval '${graceMs} milliseconds')`;
  });
  await writer.execute(
    `INSERT INTO outbox (id, queue, name, payload, organization_id, request_id, traceparent, next_ring_at)
     VALUES ${rows.join(', ')}`,
    messages.flatMap(({ id, queue, name, payload, organizationId, requestId, traceparent }) => [
      id,
      queue,
      name,
      JSON.stringify(payload),
      organizationId,
      requestId,
      traceparent,
    ]),
  );
}
