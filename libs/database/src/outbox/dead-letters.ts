/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import type { QueueName } from '@muster/contracts';
import type { Page } from '@muster/platform';
import type { Database } from '../database';
import type { OutboxEntity } from '../entities/outbox';
import { containsIgnoringCaseSql } from '../fold-case';
import type { Scope } from '../transactions/scope';
import type { Transaction } from '../transactions/transaction';

export interface DeadLetterFilter {
  page: Page;
  queue?: QueueName | undefined;
  /** Filter: only dead letters whose queue, name or error contains this text. */
  q?: string | undefined;
}

/** Lists dead letters, newest first: those of one organization, or all. */
export async function listDeadLetters(
  database: Database,
  scope: Scope,
  { page, queue, q }: DeadLetterFilter,
): Promise<OutboxEntity[]> {
  return database.transaction(scope, (tx) => {
    const query = tx.manager
      .createQueryBuilder<OutboxEntity>('OutboxEntity', 'letter')
      .where('letter.nextPublishAt IS NULL')
      .orderBy('letter.id', 'DESC')
      .limit(page.limit + 1);
    if (scope !== 'system') query.andWhere('letter.organizationId = :organizationId', scope);
    if (queue) query.andWhere('letter.queue = :queue', { queue });
    const text = "concat_ws(' ', letter.queue, letter.name, letter.lastError)";
    if (q) query.andWhere(containsIgnoringCaseSql(text, ':q'), { q });
    if (page.after) query.andWhere('letter.id < :after', { after: page.after[0] });
    return query.getMany();
  });
}

/** Publishes a dead letter again at once, with all its attempts. Returns false if the scope has no such dead letter. */
export async function replayDeadLetter(tx: Transaction, id: string): Promise<boolean> {
  const touched = await tx.execute(
    `UPDATE outbox SET next_publish_at = now(), attempts = 0
     WHERE id = $1 AND next_publish_at IS NULL AND ($2::uuid IS NULL OR organization_id = $2)`,
    [id, tx.scope === 'system' ? null : tx.scope.organizationId],
  );
  return touched === 1;
}

/** Deletes a dead letter. Returns false if there is no such dead letter. */
export async function discardDeadLetter(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.execute('DELETE FROM outbox WHERE id = $1 AND next_publish_at IS NULL', [id])) === 1;
}
