import { isAbort, isMusterError, MusterError } from './muster-error';
import { sleep } from './sleep';

export interface Retrying {
  /** How often a call is made again; 0 is never. */
  maxRetries: number;
  /** Who is told to wait longer than this gives up at once. */
  maxRetryAfterMs: number;
  /** A longer answer is refused, because no answer of the service to this caller is. Without it, an answer may have any length. */
  maxResponseBytes?: number;
}

type Fetch = (request: Request) => Promise<Response>;

/**
 * Makes a call again that was answered with 429 or 503, when Retry-After says. One whose answer was lost, whole or in its
 * middle, is made again only where a second one does nothing more: reads, and calls that carry an Idempotency-Key.
 */
export function retryingFetch(
  fetch: Fetch,
  { maxRetries, maxRetryAfterMs, maxResponseBytes = Infinity }: Retrying,
): Fetch {
  return async (request) => {
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt >= maxRetries;
      let response: Response;
      try {
        // The body of a request can be sent once.
        response = await whole(await fetch(isLast ? request : request.clone()), maxResponseBytes);
      } catch (error) {
        if (isLast || request.signal.aborted || isAbort(error) || isMusterError(error) || !mayRepeat(request))
          throw error;
        await sleep(backoffMs(attempt), request.signal);
        continue;
      }
      if (isLast || (response.status !== 429 && response.status !== 503)) return response;
      const waitMs = retryAfterMs(response.headers.get('retry-after'), Date.now()) ?? backoffMs(attempt);
      if (waitMs > maxRetryAfterMs) return response;
      await sleep(waitMs, request.signal);
    }
  };
}

const withoutBody = new Set([204, 205, 304]);

/** The answer once all of it is here; a stream is handed on as it comes. */
async function whole(response: Response, maxBytes: number): Promise<Response> {
  const { status, statusText, headers, body } = response;
  // Browsers have a body, of nothing, also where there can be none.
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
      throw new MusterError(status, { code: 'not_muster', detail: `The answer is longer than ${maxBytes} bytes.` });
    }
    chunks.push(value as Uint8Array<ArrayBuffer>);
  }
}

/** What Retry-After says, in seconds or as a date. */
function retryAfterMs(value: string | null, now: number): number | undefined {
  if (!value) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function mayRepeat({ method, headers }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || headers.has('idempotency-key');
}

/** Half of it by chance, so that those who were refused together don't come back together. */
function backoffMs(attempt: number): number {
  const whole = Math.min(8000, 500 * 2 ** attempt);
  return whole / 2 + (Math.random() * whole) / 2;
}
