import { EventEmitter } from 'node:events';
import type { Transaction } from '@muster/database';

export const accessChannel = 'muster_access';

/** Emits in this process once the change is committed. Other processes are notified through Postgres. */
export const accessChanged = new EventEmitter();

/** Makes every process drop its cached principals. Access changes are rare, so all of them are dropped. */
export async function dropCachedPrincipals(tx: Transaction): Promise<void> {
  await tx.query('SELECT pg_notify($1, $2)', [accessChannel, '']);
  tx.onCommit(() => accessChanged.emit('changed'));
}
