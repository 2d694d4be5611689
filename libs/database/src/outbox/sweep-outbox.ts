/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import type { OutboxMessage } from '@muster/contracts';
import { type MessagePublisher, Round } from '@muster/platform';
import type { Database } from '../database';
import type { OutboxEntity } from '../entities/outbox';

type Row = Pick<OutboxEntity, 'id' | 'queue' | 'name' | 'payload' | 'organizationId' | 'requestId' | 'traceparent'>;

export interface SweepOptions {
  republishMs: number;
  limit: number;
}

/**
 * Publishes every row that is due: left by a crash, lost by Redis, or due for another attempt. Rows are leased and
 * published page by page and not one by one, because a failure of Redis concerns all rows and never a single one.
 */
export async function sweepOutbox(
  database: Database,
  publisher: MessagePublisher,
  { republishMs, limit }: SweepOptions,
  round = new Round('sweep outbox'),
): Promise<{ published: number; postponed: number }> {
  const counts = { published: 0, postponed: 0 };
  for (;;) {
    // Leases rows by postponing their next publication. The sweep of another replica skips locked rows and does not
    // find postponed ones.
    const rows = await database.query<Row>(
      'system',
      `UPDATE outbox SET next_publish_at = now() + $1 * interval '1 millisecond'
       WHERE id IN (
         SELECT id FROM outbox WHERE next_publish_at <= now() ORDER BY next_publish_at LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING id, queue, name, payload, organization_id, request_id, traceparent`,
      [republishMs, limit],
      'outbox_sweep',
    );
    if (rows.length === 0) return counts;
    try {
      await publisher.publish(rows.map(toOutboxMessage));
      counts.published += rows.length;
    } catch (error) {
      round.recordFailure('the queues', error);
      counts.postponed += await postponeOutboxRows(database, rows);
      return counts;
    }
    if (rows.length < limit || !round.hasTime) return counts;
  }
}

/**
 * Postpones rows that Redis did not accept. Redis may still have some of them, but ignores the same ids in the next
 * round.
 */
async function postponeOutboxRows(database: Database, rows: Row[]): Promise<number> {
  await database.query(
    'system',
    `UPDATE outbox SET next_publish_at = now() + interval '1 second' WHERE id = ANY($1) AND next_publish_at IS NOT NULL`,
    [rows.map(({ id }) => id)],
  );
  return rows.length;
}

function toOutboxMessage({ id, queue, name, payload, organizationId, requestId, traceparent }: Row): OutboxMessage {
  return { id, queue, name, payload, organizationId, requestId, traceparent };
}
