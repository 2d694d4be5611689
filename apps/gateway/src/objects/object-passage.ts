import { Agent as HttpAgent, type IncomingMessage, type OutgoingHttpHeaders, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { AppError } from '@muster/contracts';
import { maxProxiedBytes, objectProxyPath, objectSigningHost } from '@muster/storage';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Time without traffic, in milliseconds, after which the request to the store is aborted. */
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

/** Proxies requests for presigned URLs to the object store, as streams. The store checks the signature. */
export class ObjectPassage {
  private readonly agents = {
    // The store may close a kept-alive connection just when it is reused, and a streamed upload cannot be repeated.
    'http:': new HttpAgent({ keepAlive: false }),
    'https:': new HttpsAgent({ keepAlive: false }),
  };

  constructor(private readonly endpoint: URL) {}

  async forwardToStore(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    requireSignedUrl(request);
    const answer = await this.sendUpstream(request);
    void reply.hijack();
    const { raw } = reply;
    raw.writeHead(answer.statusCode!, {
      ...(reply.getHeaders() as Record<string, string>),
      ...filterResponseHeaders(answer),
    });
    // If one side aborts, the other is closed too, so that a partial object does not look complete.
    await pipeline(answer, raw).catch(() => undefined);
  }

  close(): void {
    for (const agent of Object.values(this.agents)) agent.destroy();
  }

  private sendUpstream({ raw }: FastifyRequest): Promise<IncomingMessage> {
    const { endpoint } = this;
    const send = endpoint.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const outgoing = send(endpoint, {
        method: raw.method,
        path: raw.url!.slice(objectProxyPath.length),
        agent: this.agents[endpoint.protocol as 'http:' | 'https:'],
        servername: endpoint.hostname,
        timeout: silenceMs,
        headers: {
          ...Object.fromEntries(
            Object.entries(raw.headers).filter(([name]) => toStore.includes(name) || name.startsWith('x-amz-')),
          ),
          // URLs are signed for this fixed host, so they stay valid if the store's address changes.
          host: objectSigningHost,
          // Without keep-alive, the store closes the connection after an error, and an error during an upload is lost.
          connection: 'keep-alive',
        },
      });
      outgoing.on('timeout', () => outgoing.destroy(new Error('timeout')));
      // The store may stop reading after its response. Discards the rest of the upload, or the client would hang.
      const discardUpload = () => {
        raw.unpipe(outgoing);
        raw.resume();
      };
      outgoing.on('response', (answer) => {
        if (!raw.readableEnded) {
          discardUpload();
          answer.on('end', () => outgoing.destroy());
        }
        resolve(answer);
      });
      outgoing.on('error', () => {
        discardUpload();
        reject(new AppError('service_unavailable', { detail: 'The object store does not answer. Try again later.' }));
      });
      raw.on('close', () => raw.readableEnded || outgoing.destroy());
      raw.pipe(outgoing);
    });
  }
}

function requireSignedUrl({ method, raw, headers }: FastifyRequest): void {
  const signed = new URL(raw.url!, 'http://object').searchParams.has('X-Amz-Signature');
  if (!signed)
    throw new AppError('permission_denied', {
      detail: 'Objects can be read and written only with a signed URL. Request a new URL from the API.',
    });
  if (method !== 'PUT') return;
  const size = headers['content-length'];
  if (size === undefined)
    throw new AppError('invalid_payload', {
      detail: 'The request has no Content-Length header. Send the size of the object in it.',
    });
  if (Number(size) > maxProxiedBytes) {
    throw new AppError('payload_too_large', {
      detail: `An object can have at most ${maxProxiedBytes} bytes. Send a smaller one.`,
    });
  }
}

/** Objects share the origin of the service's pages, so browsers may only display images and must not run anything. */
function filterResponseHeaders(answer: IncomingMessage): OutgoingHttpHeaders {
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

/** Any page may use a signed URL: access depends only on the signature, not on cookies. */
const anyOrigin = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'etag, content-length, content-range, accept-ranges, last-modified',
};

export function buildPreflightHeaders({ headers }: FastifyRequest): Record<string, string> {
  const requestedHeaders = headers['access-control-request-headers'];
  return {
    ...anyOrigin,
    'access-control-allow-methods': 'GET, HEAD, PUT',
    'access-control-max-age': '3000',
    ...(requestedHeaders === undefined ? {} : { 'access-control-allow-headers': requestedHeaders }),
  };
}
