import { isAbortOrTimeout, isMusterError, MusterError } from './muster-error';
import { sleep } from './sleep';

export interface Retrying {
  /** Maximum number of retries; 0 for none. */
  maxRetries: number;
  /** Maximum Retry-After to wait for, in milliseconds. A response with a longer Retry-After is returned immediately. */
  maxRetryAfterMs: number;
  /**
   * Maximum size of a response in bytes, by default unlimited. A larger response cannot come from the service, so the
   * call fails.
   */
  maxResponseBytes?: number;
}

type Fetch = (request: Request) => Promise<Response>;

/**
 * Retries a call after a 429 or 503 response, at the time of Retry-After. If the response was lost completely or in
 * part, retries only calls that are safe to repeat: reads, and calls with an Idempotency-Key.
 */
export function fetchWithRetries(
  fetch: Fetch,
  { maxRetries, maxRetryAfterMs, maxResponseBytes = Infinity }: Retrying,
): Fetch {
  return async (request) => {
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt >= maxRetries;
      let response: Response;
      try {
        // The body of a request can be sent only once, so a retry needs a clone of the request.
        response = await readCompletely(await fetch(isLast ? request : request.clone()), maxResponseBytes);
      } catch (error) {
        if (
          isLast ||
          request.signal.aborted ||
          isAbortOrTimeout(error) ||
          isMusterError(error) ||
          !isSafeToRepeat(request)
        )
          throw error;
        await sleep(computeBackoffMs(attempt), request.signal);
        continue;
      }
      if (isLast || (response.status !== 429 && response.status !== 503)) return response;
      const waitMs = retryAfterMs(response.headers.get('retry-after'), Date.now()) ?? computeBackoffMs(attempt);
      if (waitMs > maxRetryAfterMs) return response;
      await sleep(waitMs, request.signal);
    }
  };
}

const withoutBody = new Set([204, 205, 304]);

/** Reads the response completely, except for an event stream. */
async function readCompletely(response: Response, maxBytes: number): Promise<Response> {
  const { status, statusText, headers, body } = response;
  // In browsers, responses with these statuses have an empty body instead of no body.
  if (!body || withoutBody.has(status) || headers.get('content-type')?.startsWith('text/event-stream')) return response;
  return new Response(await readAtMost(body, maxBytes, status), { status, statusText, headers });
}

async function readAtMost(body: ReadableStream<Uint8Array>, maxBytes: number, status: number): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(chunks);
    size += value.length;
    if (size > maxBytes) {
      await reader.cancel();
      throw new MusterError(status, { code: 'not_muster', detail: `The response is larger than ${maxBytes} bytes.` });
    }
    chunks.push(value as Uint8Array<ArrayBuffer>);
  }
}

/** Parses a Retry-After header, which contains seconds or a date. */
function retryAfterMs(value: string | null, now: number): number | undefined {
  if (!value) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function isSafeToRepeat({ method, headers }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || headers.has('idempotency-key');
}

/**
 * Returns the delay before the next attempt, which grows exponentially. Half of the delay is random, so that clients
 * that failed together do not retry together.
 */
function computeBackoffMs(attempt: number): number {
  const whole = Math.min(8000, 500 * 2 ** attempt);
  return whole / 2 + (Math.random() * whole) / 2;
}
