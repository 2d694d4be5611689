import type { InboundReceipt } from '@muster/contracts';
import { AppError } from '@muster/contracts';
import type { Database, InboundCodeEntity, QuestionEntity, Transaction } from '@muster/database';
import { isUuid } from '@muster/platform';
import { type KeyRing, sealText } from '@muster/vault';
import { answerQuestion, type Answerer } from './answer-question';
import { buildInboundAssociatedData, openInboundKeys } from './inbound-codes';
import { findCodeInText, type Message, type Posted, parseInboundMessage } from './parse-inbound-message';

/**
 * Milliseconds for which a code is stored if no question waits for it, so that an admin can look it up. It never answers
 * a question that is asked later, because it may belong to another sign-in.
 */
export const storedMs = 10 * 60_000;
const maxPerMinute = 60;

type Inbound = Pick<InboundCodeEntity, 'id' | 'organizationId' | 'name' | 'pattern' | 'senders' | 'sealed'>;
interface Parts {
  database: Database;
  keyRing: KeyRing;
}

/**
 * Receives a gateway's message. The code in it answers only the oldest question that waits for a code of this inbound
 * address.
 */
export async function receiveInboundMessage(
  { database, keyRing }: Parts,
  { inboundId, posted, now }: { inboundId: string; posted: Posted; now: Date },
): Promise<InboundReceipt> {
  const inbound = await findInboundCode(database, inboundId);
  const keys = inbound && openInboundKeys(keyRing, inbound);
  const message = keys ? await parseInboundMessage(posted, keys, now) : null;
  // An unknown inbound address and a wrong signature get the same error, so that the error does not reveal whether the
  // address exists.
  if (!inbound || !message) {
    throw new AppError('unauthenticated', {
      detail:
        'The signature of the request is missing or wrong. Check that the gateway signs with the secret of this ' +
        'inbound address.',
    });
  }
  const { organizationId } = inbound;
  return database.transaction({ organizationId }, (tx) => processInboundMessage(tx, keyRing, inbound, message));
}

async function processInboundMessage(
  tx: Transaction,
  keyRing: KeyRing,
  inbound: Inbound,
  { from, text, fingerprint }: Message,
): Promise<InboundReceipt> {
  const { id: inboundId, organizationId, senders, pattern } = inbound;
  // The messages of an inbound address are processed one at a time, because each message answers the oldest question
  // that is still open.
  await tx.query('SELECT id FROM inbound_code WHERE id = $1 FOR UPDATE', [inboundId], 'lock_inbound_code');
  const [{ count }] = (await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM inbound_message
     WHERE inbound_id = $1 AND received_at > muster_now() - interval '1 minute'`,
    [inboundId],
    'messages_of_minute',
  )) as [{ count: number }];
  if (count >= maxPerMinute) {
    throw new AppError('rate_limited', {
      detail: `An inbound address accepts at most ${maxPerMinute} messages per minute; try again later.`,
      headers: { 'retry-after': '30' },
    });
  }
  const isNew = await tx.execute(
    `INSERT INTO inbound_message (inbound_id, fingerprint, organization_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
    [inboundId, fingerprint, organizationId],
    'insert_inbound_message',
  );
  if (isNew === 0) return { accepted: false, reason: 'replayed' };
  if (senders.length > 0 && !senders.includes(from.toLowerCase())) return { accepted: false, reason: 'sender' };
  const code = findCodeInText(text.slice(0, 10_000), pattern);
  if (code === null) return { accepted: false, reason: 'no_code' };
  const [waiting] = await tx.query<Pick<QuestionEntity, 'id'>>(
    `SELECT id FROM question
     WHERE inbound_id = $1 AND organization_id = $2 AND status = 'open' AND expires_at > muster_now()
     ORDER BY id LIMIT 1`,
    [inboundId, organizationId],
    'question_for_message',
  );
  if (waiting) {
    await answerQuestion(tx, keyRing, toInboundAnswerer(inbound, from), { id: waiting.id, answer: code });
    return { accepted: true };
  }
  const sealed = JSON.stringify(
    sealText(keyRing, buildInboundAssociatedData(inboundId), JSON.stringify({ code, from })),
  );
  tx.deferStatement(
    'UPDATE inbound_message SET sealed = $3 WHERE inbound_id = $1 AND fingerprint = $2',
    [inboundId, fingerprint, sealed],
    'keep_inbound_message',
  );
  return { accepted: true };
}

/**
 * Deletes stored codes whose time has passed. The fingerprint of a message is stored for a day, so that a repeated
 * message is recognized.
 */
export async function purgeInboundMessages(database: Database): Promise<{ messages: number; codes: number }> {
  return database.transaction('system', async (tx) => ({
    codes: await tx.execute(
      `UPDATE inbound_message SET sealed = NULL
       WHERE sealed IS NOT NULL AND received_at <= muster_now() - $1 * interval '1 millisecond'`,
      [storedMs],
    ),
    messages: await tx.execute(`DELETE FROM inbound_message WHERE received_at < muster_now() - interval '1 day'`),
  }));
}

async function findInboundCode(database: Database, id: string): Promise<Inbound | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await database.query<Inbound>(
    'system',
    'SELECT id, organization_id, name, pattern, senders, sealed FROM inbound_code WHERE id = $1',
    [id],
    'find_inbound_code',
  );
  return row;
}

function toInboundAnswerer({ id: inboundId, organizationId, name }: Inbound, from: string): Answerer {
  const id = `${name}: ${from}`.slice(0, 200);
  return { actor: { kind: 'system', id, organizationId }, via: 'inbound', audiences: null, inboundId };
}
