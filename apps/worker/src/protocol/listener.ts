import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { computeClockAheadMs, parseCommand, type Command } from './command';
import { parseSignatureTime, verifySignature } from './signature';

const bodyBytes = 8 * 1024 * 1024;

/** Outcome of a command that the service pushed to the worker. */
export type OfferOutcome = 'taken' | 'known' | 'busy' | 'stopping';
const statusOf: Record<OfferOutcome, number> = { taken: 202, known: 200, busy: 409, stopping: 503 };

export interface ListenerOptions {
  agentId: string;
  /**
   * Returns the secret with which the service signs commands. Null before the handshake, when no signature can be
   * verified.
   */
  signingSecret: () => string | null;
  take: (command: Command) => OfferOutcome;
}

export interface Listener {
  address: AddressInfo;
  close: () => void;
}

/** Accepts pushed commands: POST /commands, signed by the service. */
export async function startListener(at: { host: string; port: number }, options: ListenerOptions): Promise<Listener> {
  const server: Server = createServer((request, response) => {
    void answerRequest(request, response, options).catch(() => response.destroy());
  });
  server.requestTimeout = 30_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, resolve);
  });
  const closeServer = (): void => {
    server.close();
    server.closeIdleConnections();
  };
  return { address: server.address() as AddressInfo, close: closeServer };
}

async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: ListenerOptions,
): Promise<void> {
  const sendJson = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  if (request.url?.split('?')[0] !== '/commands') return sendJson(404, { error: 'not_found' });
  if (request.method !== 'POST') return sendJson(405, { error: 'method_not_allowed' });
  const body = await readBody(request);
  if (body === null) {
    response.setHeader('connection', 'close');
    return sendJson(413, { error: 'payload_too_large' });
  }
  const secret = options.signingSecret();
  if (secret === null) return sendJson(503, { error: 'service_unavailable' });
  const header = [request.headers['x-service-signature'] ?? ''].flat().join(',');
  const now = Date.now();
  if (!verifySignature(secret, header, body, now)) return sendJson(401, { error: 'unauthenticated' });
  const command = parseCommand(parseJson(body), options.agentId, computeClockAheadMs(parseSignatureTime(header), now));
  if (typeof command === 'string') return sendJson(400, { error: 'invalid_payload', detail: command });
  const outcome = options.take(command);
  sendJson(statusOf[outcome], { status: outcome, commandId: command.commandId });
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  if (Number(request.headers['content-length'] ?? 0) > bodyBytes) return null;
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > bodyBytes) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}
