import { audit, type Principal } from '@muster/access';
import { type InboundMessage, notFoundError } from '@muster/contracts';
import type { InboundMessageEntity, Transaction } from '@muster/database';
import { isUuid } from '@muster/platform';
import { isSealedText, type KeyRing, openText } from '@muster/vault';
import { buildInboundAssociatedData } from './inbound-codes';
import { storedMs } from './receive-inbound-message';

const maxMessages = 200;

/**
 * Lists the messages of an inbound address whose codes no question has used, newest first, and audits that the caller
 * read them.
 */
export async function listMessages(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  id: string,
): Promise<InboundMessage[]> {
  const { organizationId } = caller;
  const [inbound] = isUuid(id)
    ? await tx.query('SELECT FROM inbound_code WHERE id = $1 AND organization_id = $2', [id, organizationId])
    : [];
  if (!inbound) throw notFoundError('inbound address');
  const rows = await tx.query<Pick<InboundMessageEntity, 'sealed' | 'receivedAt'>>(
    `SELECT sealed, received_at FROM inbound_message
     WHERE inbound_id = $1 AND organization_id = $2 AND sealed IS NOT NULL
       AND received_at > muster_now() - $3 * interval '1 millisecond'
     ORDER BY received_at DESC LIMIT $4`,
    [id, organizationId, storedMs, maxMessages],
    'list_inbound_messages',
  );
  audit(tx, caller, {
    action: 'inbound_code.read_messages',
    target: { type: 'inbound_code', id },
    changes: { messages: rows.length },
  });
  return rows.flatMap(({ sealed, receivedAt }) => {
    if (!isSealedText(sealed)) return [];
    const text = openText(keyRing, buildInboundAssociatedData(id), sealed);
    const { code, from } = JSON.parse(text) as Pick<InboundMessage, 'code' | 'from'>;
    const expiresAt = new Date(receivedAt.getTime() + storedMs).toISOString();
    return [{ from, code, receivedAt: receivedAt.toISOString(), expiresAt }];
  });
}
