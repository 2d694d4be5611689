import type { InboundReceipt } from '@muster/contracts';
import { AppError } from '@muster/contracts';
import type { Database, InboundCodeEntity, InboundMessageEntity, QuestionEntity, Transaction } from '@muster/database';
import { isUuid } from '@muster/platform';
import { isSealedText, type KeyRing, openText, sealText } from '@muster/vault';
import { answerQuestion, type Answerer } from './answer-question';
import { buildInboundAssociatedData } from './inbound-codes';
import { findCodeInText, type Message, type Posted, parseInboundMessage } from './parse-inbound-message';

/** Milliseconds for which a code is stored if no question waits for it, for a question that is asked later. */
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
  const message =
    inbound && isSealedText(inbound.sealed)
      ? await parseInboundMessage(
          posted,
          openText(keyRing, buildInboundAssociatedData(inbound.id), inbound.sealed),
          now,
        )
      : null;
  // The error is the same for an unknown address and a wrong signature, so it does not reveal whether the address
  // exists.
  if (!inbound || !message) {
    throw new AppError('unauthenticated', { detail: 'The signature is missing or wrong.' });
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
  // The messages of an address are processed one at a time, because each answers the oldest question that is still
  // open.
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

/** Answers a new question with a stored code that arrived before it. Returns whether there was such a code. */
export async function answerFromStoredCode(
  tx: Transaction,
  keyRing: KeyRing,
  { inboundId, questionId, since }: { inboundId: string; questionId: string; since: Date },
): Promise<boolean> {
  const [row] = await tx.query<
    Pick<InboundMessageEntity, 'sealed'> & Inbound & { message: InboundMessageEntity['sealed'] }
  >(
    `WITH stored_message AS (
       SELECT inbound_id, fingerprint, sealed FROM inbound_message
       WHERE inbound_id = $1 AND sealed IS NOT NULL AND received_at >= $2
         AND received_at > muster_now() - $3 * interval '1 millisecond'
       ORDER BY received_at LIMIT 1 FOR UPDATE)
     UPDATE inbound_message m SET sealed = NULL FROM stored_message s, inbound_code c
     WHERE m.inbound_id = s.inbound_id AND m.fingerprint = s.fingerprint AND c.id = s.inbound_id
     RETURNING s.sealed AS message, c.id, c.organization_id, c.name, c.pattern, c.senders`,
    [inboundId, since, storedMs],
    'take_kept_message',
  );
  if (!row || !isSealedText(row.message)) return false;
  const { code, from } = JSON.parse(openText(keyRing, buildInboundAssociatedData(inboundId), row.message)) as {
    code: string;
    from: string;
  };
  await answerQuestion(tx, keyRing, toInboundAnswerer(row, from), { id: questionId, answer: code });
  return true;
}

/**
 * Deletes stored codes that no question used. The fingerprint of a message is stored for a day, so that a repeated
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

function toInboundAnswerer({ organizationId, name }: Pick<Inbound, 'organizationId' | 'name'>, from: string): Answerer {
  const id = `${name}: ${from}`.slice(0, 200);
  return { actor: { kind: 'system', id, organizationId }, via: 'inbound', audiences: null };
}
