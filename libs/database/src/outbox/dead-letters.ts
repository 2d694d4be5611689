import type { QueueName } from '@muster/contracts';
import type { Page } from '@muster/platform';
import type { Database } from '../database';
import type { OutboxEntity } from '../entities/outbox';
import type { Transaction } from '../transactions/transaction';

/** Messages that were given up, newest first. */
export async function listDeadLetters(database: Database, page: Page, queue?: QueueName): Promise<OutboxEntity[]> {
  return database.transaction('system', (tx) => {
    const query = tx.manager
      .createQueryBuilder<OutboxEntity>('OutboxEntity', 'letter')
      .where('letter.nextPublishAt IS NULL')
      .orderBy('letter.id', 'DESC')
      .limit(page.limit + 1);
    if (queue) query.andWhere('letter.queue = :queue', { queue });
    if (page.after) query.andWhere('letter.id < :after', { after: page.after[0] });
    return query.getMany();
  });
}

/** Gives a dead letter all its attempts again, at once. False when there is no such dead letter. */
export async function replayDeadLetter(tx: Transaction, id: string): Promise<boolean> {
  const touched = await tx.execute(
    'UPDATE outbox SET next_publish_at = now(), attempts = 0 WHERE id = $1 AND next_publish_at IS NULL',
    [id],
  );
  return touched === 1;
}

/** Drops a dead letter for good. False when there is no such dead letter. */
export async function discardDeadLetter(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.execute('DELETE FROM outbox WHERE id = $1 AND next_publish_at IS NULL', [id])) === 1;
}
