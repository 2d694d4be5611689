import { Agent as HttpAgent, type IncomingMessage, type OutgoingHttpHeaders, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { AppError } from '@muster/contracts';
import { lentHost, lentPath, maxLentBytes } from '@muster/storage';
import type { FastifyReply, FastifyRequest } from 'fastify';

const silenceMs = 60_000;
const toStore = [
  'content-type',
  'content-length',
  'content-md5',
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
];
const notToCaller = ['connection', 'keep-alive', 'transfer-encoding', 'server', 'date'];
const raster = /^image\/(png|jpeg|webp|gif)(;|$)/i;

/** Passes what was lent by a presigned URL on to the store and back, as it streams. The store judges the signature. */
export class ObjectPassage {
  private readonly agents = {
    // A connection that was kept may be closed by the store at the moment of its use, and an upload cannot be sent twice.
    'http:': new HttpAgent({ keepAlive: false }),
    'https:': new HttpsAgent({ keepAlive: false }),
  };

  constructor(private readonly endpoint: URL) {}

  async pass(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    requireLent(request);
    const answer = await this.ask(request);
    void reply.hijack();
    const { raw } = reply;
    raw.writeHead(answer.statusCode!, {
      ...(reply.getHeaders() as Record<string, string>),
      ...headersOf(answer),
    });
    // Either side that breaks off ends the other: half an object must not look like a whole one.
    await pipeline(answer, raw).catch(() => undefined);
  }

  close(): void {
    for (const agent of Object.values(this.agents)) agent.destroy();
  }

  private ask({ raw }: FastifyRequest): Promise<IncomingMessage> {
    const { endpoint } = this;
    const send = endpoint.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const outgoing = send(endpoint, {
        method: raw.method,
        path: raw.url!.slice(lentPath.length),
        agent: this.agents[endpoint.protocol as 'http:' | 'https:'],
        servername: endpoint.hostname,
        timeout: silenceMs,
        headers: {
          ...Object.fromEntries(
            Object.entries(raw.headers).filter(([name]) => toStore.includes(name) || name.startsWith('x-amz-')),
          ),
          // What was signed: a name that stays, wherever the store is this time.
          host: lentHost,
          // Or the store would close with its refusal, which is lost where it comes amid an upload.
          connection: 'keep-alive',
        },
      });
      outgoing.on('timeout', () => outgoing.destroy(new Error('silence')));
      // A store that has answered may read no further: what still comes is dropped, or its sender would wait for ever.
      const drop = () => {
        raw.unpipe(outgoing);
        raw.resume();
      };
      outgoing.on('response', (answer) => {
        if (!raw.readableEnded) {
          drop();
          answer.on('end', () => outgoing.destroy());
        }
        resolve(answer);
      });
      outgoing.on('error', () => {
        drop();
        reject(new AppError('service_unavailable', { detail: 'The object store does not answer.' }));
      });
      raw.on('close', () => raw.readableEnded || outgoing.destroy());
      raw.pipe(outgoing);
    });
  }
}

function requireLent({ method, raw, headers }: FastifyRequest): void {
  const signed = new URL(raw.url!, 'http://object').searchParams.has('X-Amz-Signature');
  if (!signed) throw new AppError('permission_denied', { detail: 'An object is read and written by a signed URL.' });
  if (method !== 'PUT') return;
  const size = headers['content-length'];
  if (size === undefined)
    throw new AppError('invalid_payload', { detail: 'Say the size of the object in Content-Length.' });
  if (Number(size) > maxLentBytes) {
    throw new AppError('payload_too_large', { detail: `An object may have at most ${maxLentBytes} bytes.` });
  }
}

/** An object shares its origin with the service's own pages: a browser shows only pictures of it, and runs nothing. */
function headersOf(answer: IncomingMessage): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = Object.fromEntries(
    Object.entries(answer.headers).filter(([name]) => !notToCaller.includes(name)),
  );
  const isPicture = raster.test(answer.headers['content-type'] ?? '');
  const disposition = answer.headers['content-disposition'];
  return {
    'cache-control': 'private',
    ...headers,
    ...(isPicture || /^attachment\b/i.test(disposition ?? '') ? {} : { 'content-disposition': 'attachment' }),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    ...anyOrigin,
  };
}

/** The signature is all that it takes, from whatever page; no cookie is looked at. */
const anyOrigin = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'etag, content-length, content-range, accept-ranges, last-modified',
};

export function preflightHeaders({ headers }: FastifyRequest): Record<string, string> {
  const asked = headers['access-control-request-headers'];
  return {
    ...anyOrigin,
    'access-control-allow-methods': 'GET, HEAD, PUT',
    'access-control-max-age': '3000',
    ...(asked === undefined ? {} : { 'access-control-allow-headers': asked }),
  };
}
