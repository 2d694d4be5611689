import { EventEmitter } from 'node:events';
import type { Transaction } from '@muster/database';

export const accessChannel = 'muster_access';

/** Heard in this process the moment that the change is durable; other processes hear Postgres. */
export const accessChanged = new EventEmitter();

/** Tells every process to forget what it believes about who may do what. Rare, so nothing finer is worth it. */
export async function announceAccessChange(tx: Transaction): Promise<void> {
  await tx.query('SELECT pg_notify($1, $2)', [accessChannel, '']);
  tx.onCommit(() => accessChanged.emit('changed'));
}
