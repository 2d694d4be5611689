import type { Outbound, OutboundStream } from '@muster/platform';
import { signedHeaders } from './sign-delivery';

/** From the name's lookup to the answer's end. */
const limitMs = 10_000;
/** Of an answer nobody reads more. */
const maxAnswerBytes = 64 * 1024;

export interface SentAttempt {
  at: Date;
  /** Null: there was no answer. */
  statusCode: number | null;
  durationMs: number;
  error: string | null;
}

/**
 * Sends a delivery once, through the guard of all calls to addresses that others named. A redirect is an answer like
 * another. Throws the signal's reason where that comes first.
 */
export async function sendDelivery(
  outbound: Outbound,
  { id, url, body }: { id: string; url: string; body: string },
  { secrets, at, signal }: { secrets: readonly string[]; at: Date; signal: AbortSignal },
): Promise<SentAttempt> {
  const began = performance.now();
  const limit = AbortSignal.timeout(limitMs);
  let statusCode: number | null = null;
  const ended = (error: string | null): SentAttempt => ({
    at,
    statusCode,
    durationMs: Math.round(performance.now() - began),
    error,
  });
  try {
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Muster-Webhooks/1.0',
      ...signedHeaders({ id, body, at }, secrets),
    };
    const both = AbortSignal.any([limit, signal]);
    const answer = await unlessAborted(outbound.open({ url, method: 'POST', headers, body }, both), both);
    statusCode = answer.status;
    await readToEnd(answer);
    return ended(null);
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) return ended(`no whole answer within ${limitMs} ms`);
    return ended((error as Error).message.slice(0, 500));
  }
}

/** A name's lookup does not know the signal, nor does a mail relay. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason as Error);
    signal.addEventListener('abort', end, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}

/** What breaks off before its end is no answer; what is longer than anybody reads is one. */
async function readToEnd({ body }: OutboundStream): Promise<void> {
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    // Leaving the loop destroys the answer, and with it the connection.
    if (length > maxAnswerBytes) return;
  }
}
