/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import { type QueueName, queueNames } from '@muster/contracts';
import { newId, type Page, purgeTables, Round } from '@muster/platform';
import type { Database } from '../database';
import { QueueProbeEntity } from '../entities/outbox';
import type { Transaction } from '../transactions/transaction';

/** Sends probe messages through queues: inserts their rows, and enqueues a message for each. */
export async function requestQueueProbes(
  tx: Transaction,
  { queues = queueNames, count = 1 }: { queues?: readonly QueueName[]; count?: number },
): Promise<QueueProbeEntity[]> {
  const deleteProbes = queues.flatMap((queue) => Array.from({ length: count }, () => ({ id: newId(), queue })));
  const rows = await tx.query<Pick<QueueProbeEntity, 'id' | 'queue' | 'requestedAt'>>(
    `INSERT INTO queue_probe (id, queue) SELECT * FROM unnest($1::uuid[], $2::text[])
     RETURNING id, queue, requested_at`,
    [deleteProbes.map(({ id }) => id), deleteProbes.map(({ queue }) => queue)],
  );
  await tx.enqueue(
    ...deleteProbes.map(({ id, queue }) => ({ queue, name: 'probe' as const, payload: { probeId: id } })),
  );
  return rows.map(({ id, queue, requestedAt }) => ({
    id,
    queue,
    requestedAt,
    handledAt: null,
    handledBy: null,
    deliveries: 0,
  }));
}

/** Records that a probe message was handled. The first answer is stored; later deliveries are only counted. */
export async function answerQueueProbe(database: Database, probeId: string, handledBy: string): Promise<void> {
  await database.query(
    'system',
    `UPDATE queue_probe
     SET deliveries = deliveries + 1, handled_at = COALESCE(handled_at, now()), handled_by = COALESCE(handled_by, $2)
     WHERE id = $1`,
    [probeId, handledBy],
    'answer_probe',
  );
}

/** Returns the latest probe message of each queue that has had one. */
export function readLatestQueueProbes(database: Database): Promise<QueueProbeEntity[]> {
  return database.transaction('system', (tx) =>
    tx.manager
      .createQueryBuilder(QueueProbeEntity, 'p')
      .distinctOn(['p.queue'])
      .orderBy('p.queue')
      .addOrderBy('p.id', 'DESC')
      .getMany(),
  );
}

/** Lists probe messages, newest first. */
export function listQueueProbes(database: Database, page: Page): Promise<QueueProbeEntity[]> {
  return database.transaction('system', (tx) => {
    const deleteProbes = tx.manager
      .createQueryBuilder(QueueProbeEntity, 'p')
      .orderBy('p.id', 'DESC')
      .limit(page.limit + 1);
    if (page.after) deleteProbes.where('p.id < :after', { after: page.after[0] });
    return deleteProbes.getMany();
  });
}

export function findQueueProbe(database: Database, id: string): Promise<QueueProbeEntity | null> {
  return database.transaction('system', (tx) => tx.manager.findOneBy(QueueProbeEntity, { id }));
}

/** Deletes handled probe messages that are older than one day. */
export function purgeQueueProbes(
  database: Database,
  round = new Round('purge canaries'),
): Promise<Record<'probes', number>> {
  const deleteProbes = (limit: number) =>
    database.transaction('system', (tx) =>
      tx.execute(
        `DELETE FROM queue_probe WHERE id IN (
           SELECT id FROM queue_probe WHERE requested_at < now() - interval '1 day' AND handled_at IS NOT NULL
           LIMIT $1 FOR UPDATE SKIP LOCKED)`,
        [limit],
      ),
    );
  return purgeTables(round, { probes: deleteProbes });
}
