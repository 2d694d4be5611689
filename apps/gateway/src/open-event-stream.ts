import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';

export const eventStreamType = 'text/event-stream; charset=utf-8';

/** Takes over the connection, for a response that is sent in pieces as they become available. */
export function startResponse(reply: FastifyReply, headers: Record<string, string>): ServerResponse {
  reply.hijack();
  const replyHeaders = reply.getHeaders() as Record<string, string>;
  reply.raw.writeHead(200, { ...replyHeaders, ...headers, 'x-accel-buffering': 'no' });
  return reply.raw;
}

interface Opening {
  comment: string;
  /**
   * Position at which the stream starts. With it, a client that loses its connection before the first event can resume.
   */
  id?: number | string;
  /** Events that are sent at once, already in the format of server-sent events. */
  frames?: string;
}

/**
 * Opens a stream of server-sent events. Returns null if nothing may follow: after a HEAD request or a disconnection.
 */
export function openEventStream(
  request: FastifyRequest,
  reply: FastifyReply,
  { comment, id, frames = '' }: Opening,
): ServerResponse | null {
  const connection = startResponse(reply, { 'content-type': eventStreamType });
  if (request.method === 'HEAD') connection.end();
  else connection.write(`: ${comment}\nretry: 2000\n${id === undefined ? '' : `id: ${id}\n`}\n${frames}`);
  return connection.writableEnded || connection.destroyed ? null : connection;
}
