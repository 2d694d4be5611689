import type { Outbound, OutboundStream } from '@muster/platform';
import { buildSignedHeaders } from './sign-delivery';

/** Time limit of an attempt, from the name lookup to the end of the response. */
const limitMs = 10_000;
/** Maximum number of bytes that are read of a response. */
const maxAnswerBytes = 64 * 1024;

export interface SentAttempt {
  at: Date;
  /** Status code of the response; null if there was no response. */
  statusCode: number | null;
  durationMs: number;
  error: string | null;
}

/**
 * Sends a delivery once, through the guard for addresses that users specify. Redirects are not followed. Throws the
 * signal’s reason if the signal is aborted first.
 */
export async function sendDelivery(
  outbound: Outbound,
  { id, url, body }: { id: string; url: string; body: string },
  { secrets, at, signal }: { secrets: readonly string[]; at: Date; signal: AbortSignal },
): Promise<SentAttempt> {
  const began = performance.now();
  const limit = AbortSignal.timeout(limitMs);
  let statusCode: number | null = null;
  const createEndedAttempt = (error: string | null): SentAttempt => ({
    at,
    statusCode,
    durationMs: Math.round(performance.now() - began),
    error,
  });
  try {
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Muster-Webhooks/1.0',
      ...buildSignedHeaders({ id, body, at }, secrets),
    };
    const both = AbortSignal.any([limit, signal]);
    const answer = await resolveUnlessAborted(outbound.openStream({ url, method: 'POST', headers, body }, both), both);
    statusCode = answer.status;
    await readResponseWithinLimit(answer);
    return createEndedAttempt(null);
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) return createEndedAttempt(`no complete response within ${limitMs} ms`);
    return createEndedAttempt((error as Error).message.slice(0, 500));
  }
}

/** Rejects when the signal is aborted. Needed because name lookups and mail transports do not support signals. */
export function resolveUnlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const rejectOnAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', rejectOnAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', rejectOnAbort));
  });
}

/** Reads the response. Throws if it is interrupted; stops without an error after `maxAnswerBytes`. */
async function readResponseWithinLimit({ body }: OutboundStream): Promise<void> {
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    // Leaving the loop destroys the response stream and its connection.
    if (length > maxAnswerBytes) return;
  }
}
