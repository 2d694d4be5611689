import { type Outbound, OutboundRefused } from '@muster/platform';
import type { ClaimedMessage } from './claim-message';
import { formatMessageAsMail, formatMessageAsSlack, formatMessageAsTeams } from './channel-formats';
import { type Relay, sendMail, type SentMessage } from './send-mail';
import type { Message } from './write-message';

export interface MessengerParts {
  outbound: Outbound;
  relay: Relay | null;
}

const limitMs = 10_000;

/** Sends a message to people, once. `url` is the opened URL of a Slack or Teams channel; null for e-mail. */
export async function sendChannelMessage(
  { outbound, relay }: MessengerParts,
  { id, kind, name, recipient }: ClaimedMessage,
  { message, url }: { message: Message; url: string | null },
): Promise<SentMessage> {
  if (kind === 'email')
    return sendMail(relay, { id, to: recipient, subject: message.subject, ...formatMessageAsMail(message, name) });
  return postToChat(outbound, url!, kind === 'slack' ? formatMessageAsSlack(message) : formatMessageAsTeams(message));
}

async function postToChat(outbound: Outbound, url: string, payload: object): Promise<SentMessage> {
  try {
    const { status } = await outbound.fetchBounded({
      ...{ url, method: 'POST', timeoutMs: limitMs, maxAnswerBytes: 64 * 1024, sentOnce: true },
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'user-agent': 'Muster-Notifications/1.0',
        // The request is never repeated: if a reused connection is lost, it is unknown whether the message arrived.
        connection: 'close',
      },
      body: JSON.stringify(payload),
    });
    if (status >= 200 && status < 300) return { outcome: 'delivered', statusCode: status, error: null };
    const isLater = status === 429 || status >= 500;
    return { outcome: isLater ? 'failed' : 'refused', statusCode: status, error: `answered ${status}` };
  } catch (error) {
    const isUnsent = error instanceof OutboundRefused || neverSent.has(getErrorCode(error));
    const text =
      error instanceof OutboundRefused
        ? error.message
        : `no complete response (${getErrorCode(error) || 'connection lost'})`;
    return { outcome: isUnsent ? 'failed' : 'unclear', statusCode: null, error: text.slice(0, 500) };
  }
}

/** Codes of errors without a connection, so nothing was sent. */
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

function getErrorCode(error: unknown): string {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  return code ?? cause?.code ?? '';
}
