import { type QueueName, queueNames } from '@muster/contracts';
import type { Database } from '../database';
import type { OutboxEntity } from '../entities/outbox';

export interface QueueBacklog {
  queue: QueueName;
  waiting: number;
  oldestWaitingAt: Date | null;
  dead: number;
}

/** What is committed and not handled, by queue: the figure that replicas are scaled on. */
export async function readBacklog(database: Database): Promise<QueueBacklog[]> {
  const rows = await database.query<
    Pick<OutboxEntity, 'queue'> & { waiting: number; oldest: Date | null; dead: number }
  >(
    'system',
    `SELECT queue,
            count(*) FILTER (WHERE next_publish_at IS NOT NULL)::int AS waiting,
            min(created_at) FILTER (WHERE next_publish_at IS NOT NULL) AS oldest,
            count(*) FILTER (WHERE next_publish_at IS NULL)::int AS dead
     FROM outbox GROUP BY queue`,
  );
  return queueNames.map((queue) => {
    const row = rows.find((candidate) => candidate.queue === queue);
    return { queue, waiting: row?.waiting ?? 0, oldestWaitingAt: row?.oldest ?? null, dead: row?.dead ?? 0 };
  });
}
