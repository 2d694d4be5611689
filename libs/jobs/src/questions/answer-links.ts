import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError, type LinkedQuestion } from '@muster/contracts';
import type { Database, QuestionEntity, WebhookEndpointEntity } from '@muster/database';
import type { ObjectStorage } from '@muster/storage';
import type { KeyRing } from '@muster/vault';
import type { Answerer } from './answer-question';
import { findQuestion, presentQuestion, type QuestionRow } from './question-row';

/** The contents of a link: the question, the notification channel that the link was sent by, and the recipient. */
interface AnswerLink {
  questionId: string;
  channelId: string;
  recipient: string;
}

/** Length of the truncated HMAC in bytes: long enough not to be guessed, and short enough for a link. */
const macBytes = 18;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns the token of a link with which a person can answer one question. The token is useless once the question has
 * ended.
 */
export function signAnswerLink(keyRing: KeyRing, { questionId, channelId, recipient }: AnswerLink): string {
  const ids = Buffer.from(`${questionId}${channelId}`.replaceAll('-', ''), 'hex');
  const payload = Buffer.concat([ids, Buffer.from(recipient)]);
  const [mac] = computeLinkMacs(keyRing, payload);
  return Buffer.concat([mac!, payload]).toString('base64url');
}

/**
 * Whether a question's message to this recipient may contain a link: everyone may answer the question, or the recipient
 * is in its audience.
 */
export function isInAudienceOfQuestion(to: readonly string[], recipient: string): boolean {
  return to.length === 0 || to.includes(recipient.toLowerCase());
}

/**
 * Returns the question of a link, and the recipient as the answerer. The link is valid only while the notification
 * channel still has this recipient.
 */
export async function findQuestionByAnswerLink(
  database: Database,
  keyRing: KeyRing,
  token: string,
): Promise<{ row: QuestionRow; answerer: Answerer }> {
  const { questionId, channelId, recipient } = readAnswerLink(keyRing, token);
  const [found] = await database.query<
    Pick<QuestionEntity, 'organizationId'> & Pick<WebhookEndpointEntity, 'name' | 'recipients'>
  >(
    'system',
    `SELECT q.organization_id, w.name, w.recipients
     FROM question q JOIN webhook_endpoint w ON w.organization_id = q.organization_id
     WHERE q.id = $1 AND w.id = $2 AND w.name IS NOT NULL`,
    [questionId, channelId],
    'find_by_answer_link',
  );
  if (!found?.recipients?.includes(recipient)) throw invalidAnswerLinkError();
  const { organizationId, name } = found;
  const row = await findQuestion(database, organizationId, questionId);
  const actor = { kind: 'system', id: `channel ${name}`, email: recipient, organizationId } as const;
  return { row, answerer: { actor, via: 'link', audiences: [recipient.toLowerCase()] } };
}

export async function presentLinkedQuestion(row: QuestionRow, storage: ObjectStorage): Promise<LinkedQuestion> {
  const { question, kind, choices, fields, status, askedAt, expiresAt, screenshotUrl } = await presentQuestion(
    row.status === 'open' ? row : { ...row, screenshotKey: null },
    storage,
  );
  return { question, kind, choices, fields, status, askedAt, expiresAt, screenshotUrl };
}

function readAnswerLink(keyRing: KeyRing, token: string): AnswerLink {
  const bytes = Buffer.from(token, 'base64url');
  const [mac, payload] = [bytes.subarray(0, macBytes), bytes.subarray(macBytes)];
  const isOurs = mac.length === macBytes && computeLinkMacs(keyRing, payload).some((own) => timingSafeEqual(own, mac));
  // Several base64 texts can encode the same bytes; only the canonical text is accepted.
  if (!isOurs || bytes.toString('base64url') !== token) throw invalidAnswerLinkError();
  const ids = payload.subarray(0, 32).toString('hex');
  const [questionId, channelId] = [ids.slice(0, 32), ids.slice(32)].map(formatHexAsUuid) as [string, string];
  if (!uuid.test(questionId) || !uuid.test(channelId)) throw invalidAnswerLinkError();
  return { questionId, channelId, recipient: payload.subarray(32).toString('utf8') };
}

/** Returns one MAC per master key, the active key's first, so that links stay valid after the keys are rotated. */
function computeLinkMacs(keyRing: KeyRing, payload: Buffer): Buffer[] {
  const keys = keyRing.deriveKeys('answer-link', 'v1');
  return keys.map((key) => createHmac('sha256', key).update(payload).digest().subarray(0, macBytes));
}

function formatHexAsUuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function invalidAnswerLinkError(): AppError {
  return new AppError('not_found', {
    detail: 'This link is not valid, or its question no longer exists. Open the question in the console.',
  });
}
