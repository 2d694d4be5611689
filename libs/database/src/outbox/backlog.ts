/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import { type QueueName, queueNames } from '@muster/contracts';
import type { Database } from '../database';
import type { OutboxEntity } from '../entities/outbox';

export interface QueueBacklog {
  /** Age of the oldest waiting message in seconds; 0 if none waits. */
  waitedSeconds: number;
  queue: QueueName;
  waiting: number;
  oldestWaitingAt: Date | null;
  dead: number;
}

/** Returns the numbers of messages that are committed but not handled, by queue. Replicas are scaled on them. */
export async function readBacklog(database: Database): Promise<QueueBacklog[]> {
  const rows = await database.query<
    Pick<OutboxEntity, 'queue'> & { waiting: number; oldest: Date | null; dead: number; waitedSeconds: number | null }
  >(
    'system',
    `SELECT queue,
            count(*) FILTER (WHERE next_publish_at IS NOT NULL)::int AS waiting,
            min(created_at) FILTER (WHERE next_publish_at IS NOT NULL) AS oldest,
            extract(epoch FROM now() - min(created_at) FILTER (WHERE next_publish_at IS NOT NULL))::float8 AS waited_seconds,
            count(*) FILTER (WHERE next_publish_at IS NULL)::int AS dead
     FROM outbox GROUP BY queue`,
  );
  return queueNames.map((queue) => {
    const row = rows.find((candidate) => candidate.queue === queue);
    return {
      queue,
      waiting: row?.waiting ?? 0,
      oldestWaitingAt: row?.oldest ?? null,
      waitedSeconds: Math.max(0, row?.waitedSeconds ?? 0),
      dead: row?.dead ?? 0,
    };
  });
}

/** Counts messages whose publication has been due for `afterSeconds`, so that the sweep must have missed them. */
export async function countOverdueMessages(database: Database, afterSeconds: number): Promise<number> {
  const [row] = await database.query<{ overdue: number }>(
    'system',
    `SELECT count(*)::int AS overdue FROM outbox WHERE next_publish_at < now() - $1 * interval '1 second'`,
    [afterSeconds],
    'count_overdue_messages',
  );
  return row!.overdue;
}
