import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { type Outbound, OutboundFailed } from '@muster/platform';

/** Maximum sizes of answers in bytes. A stream may be larger, because each token is a separate JSON object. */
const maxStreamBytes = 32 * 1024 * 1024;
const maxAnswerBytes = 8 * 1024 * 1024;
const withoutBody = [204, 205, 304];

/** Returns a fetch function that uses the outbound guard: it calls the checked address and follows no redirects. */
export function createOutboundFetch(outbound: Outbound) {
  return async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const answer = await outbound.openStream(
      {
        url: input instanceof Request ? input.url : String(input),
        method: init.method,
        headers: Object.fromEntries(new Headers(init.headers)),
        body: typeof init.body === 'string' ? init.body : undefined,
      },
      init.signal,
    );
    const { status, body } = answer;
    const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string]);
    if (withoutBody.includes(status)) {
      body.resume();
      return new Response(null, { status, headers });
    }
    const maxBytes = /^text\/event-stream/i.test(answer.headers['content-type'] ?? '')
      ? maxStreamBytes
      : maxAnswerBytes;
    return new Response(Readable.toWeb(Readable.from(limitBodySize(body, maxBytes))) as ReadableStream<Uint8Array>, {
      status,
      headers,
    });
  };
}

async function* limitBodySize(body: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    // The error leaves the loop, which destroys the response and its connection.
    if (length > maxBytes) throw new OutboundFailed(`the answer is longer than ${maxBytes} bytes`);
    yield chunk;
  }
}
