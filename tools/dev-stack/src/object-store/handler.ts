import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { authenticateRequest, type Identity } from './wire/authenticate-request';
import { answerPreflight, applyCors } from './cors';
import { S3Error } from './errors';
import { assertEmptyPayload, openPayload } from './wire/payload';
import { parseRequest, type S3Request } from './wire/request';
import { sendError } from './wire/respond';
import { findRoute } from './routes';
import type { Store } from './storage/store';

export interface HandlerOptions {
  store: Store;
  credentials: Identity;
  region: string;
  corsOrigins: readonly string[];
  now: () => Date;
  onLog: (line: string) => void;
}

export type Handler = (incoming: IncomingMessage, response: ServerResponse, expectsContinue: boolean) => Promise<void>;

/**
 * Creates the request handler: it parses, authenticates, routes and runs a request. Every error becomes an S3 error
 * response. The handler never rejects.
 */
export function createHandler(options: HandlerOptions): Handler {
  return async (incoming, response, expectsContinue) => {
    const id = randomBytes(8).toString('hex').toUpperCase();
    response.setHeader('x-amz-request-id', id);
    response.setHeader('x-content-type-options', 'nosniff');
    // A client with `Expect: 100-continue` may or may not send its body after an error response. Closing the connection
    // avoids the ambiguity.
    if (expectsContinue) response.setHeader('connection', 'close');
    let request: S3Request | undefined;
    try {
      applyCors(incoming, response, options.corsOrigins);
      request = parseRequest(incoming);
      if (request.method === 'OPTIONS') {
        answerPreflight(incoming, response, options.corsOrigins);
        return;
      }
      await handleRequest(options, { id, request, response, expectsContinue });
    } catch (thrown) {
      answerFailure(options, { id, incoming, request, response, thrown });
    }
  };
}

async function handleRequest(
  options: HandlerOptions,
  {
    id,
    request,
    response,
    expectsContinue,
  }: { id: string; request: S3Request; response: ServerResponse; expectsContinue: boolean },
): Promise<void> {
  const { store, region, now } = options;
  const declared = authenticateRequest(request, { credentials: options.credentials, region, now: now() });
  const route = findRoute(request);
  if (!route.body) assertEmptyPayload(request, declared);
  const onFirstRead = () => {
    if (!expectsContinue) return;
    response.removeHeader('connection');
    response.writeContinue();
  };
  await route.run({
    id,
    request,
    response,
    store,
    region,
    now,
    openPayload: (payloadOptions) => openPayload(request, { ...payloadOptions, declared, onFirstRead }),
  });
}

function answerFailure(
  { onLog }: HandlerOptions,
  {
    id,
    incoming,
    request,
    response,
    thrown,
  }: {
    id: string;
    incoming: IncomingMessage;
    request: S3Request | undefined;
    response: ServerResponse;
    thrown: unknown;
  },
): void {
  const error =
    thrown instanceof S3Error ? thrown : new S3Error(isDiskFullError(thrown) ? 'StorageFull' : 'InternalError');
  // The rest of a rejected body is read and discarded; otherwise the next request on this connection could not be read.
  incoming.resume();
  // The path without its query, because a presigned query grants access to the object.
  const path = incoming.url?.split('?')[0] ?? '';
  const cause = thrown instanceof S3Error ? '' : ` ${String(thrown)}`;
  onLog(`${incoming.method} ${path} ${error.status} ${error.code} ${id}${cause}`);
  if (response.headersSent || response.destroyed) {
    // It is too late for an error status: only an aborted connection tells the client that the body is incomplete.
    response.destroy();
    return;
  }
  for (const name of response.getHeaderNames()) {
    if (!KEPT_ON_FAILURE.some((prefix) => name.startsWith(prefix))) response.removeHeader(name);
  }
  sendError(response, {
    error,
    id,
    request: request ?? { method: incoming.method ?? '', target: { rawPath: path, query: [] } },
  });
}

const KEPT_ON_FAILURE = ['access-control-', 'connection', 'vary', 'x-amz-request-id', 'x-content-type-options'];

function isDiskFullError(thrown: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((thrown as NodeJS.ErrnoException).code ?? '');
}
