import type { Database, Transaction, WebhookSecretEntity } from '@muster/database';
import { Round, sweepRows, type SweepCounts } from '@muster/platform';
import { type KeyRing, rewrapEnvelope } from '@muster/vault';
import { buildSecretContext } from './seal-secret';

type Cursor = Pick<WebhookSecretEntity, 'id'>;

/** Rewraps the secrets of endpoints with the active master key, so that an old key can be removed from the key ring. */
export function rewrapWebhookSecrets(
  database: Database,
  keyRing: KeyRing,
  round = new Round('rewrap webhook secrets'),
): Promise<SweepCounts<'rewrapped'>> {
  return sweepRows(round, {
    name: 'webhook secrets',
    outcomes: ['rewrapped'],
    candidates: (after: Cursor | null, limit) =>
      database.query<Cursor>(
        'system',
        `SELECT id FROM webhook_secret WHERE master_key_id <> $1 AND ($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $3`,
        [keyRing.activeKey.id, after?.id ?? null, limit],
      ),
    settle: async ({ id }) =>
      (await database.transaction('system', (tx) => rewrapSecretsOfEndpoint(tx, keyRing, id))) ? 'rewrapped' : null,
    rowOf: ({ id }) => `webhook secret ${id}`,
  });
}

async function rewrapSecretsOfEndpoint(tx: Transaction, keyRing: KeyRing, id: string): Promise<boolean> {
  const [row] = await tx.query<WebhookSecretEntity>(
    'SELECT * FROM webhook_secret WHERE id = $1 AND master_key_id <> $2 FOR UPDATE SKIP LOCKED',
    [id, keyRing.activeKey.id],
  );
  const moved = row && rewrapEnvelope(keyRing, buildSecretContext(row), row);
  if (!moved) return false;
  await tx.execute('UPDATE webhook_secret SET master_key_id = $2, wrapped_key = $3 WHERE id = $1', [
    id,
    moved.masterKeyId,
    moved.wrappedKey,
  ]);
  return true;
}
