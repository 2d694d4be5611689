import type { FastifyReply, FastifyRequest } from 'fastify';

/** Maximum number of unread bytes that are dropped: more than the largest body that any route or the proxy accepts. */
const maxDroppedBytes = 128 * 1024 * 1024;

const lookEveryMs = 250;

/**
 * Prepares a response that is sent before the body of its request is read. If the connection were closed, the response
 * would be lost: a client that is still sending, above all a proxy, would see a connection error. So the rest of the
 * body is dropped. Node does that while the connection stays open.
 */
export function drainUnreadBody(request: FastifyRequest, reply: FastifyReply): void {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced <= maxDroppedBytes) void reply.removeHeader('connection');
  else void reply.header('connection', 'close');
}

/** Closes the connection if the client continues to send after the maximum number of dropped bytes. */
export function destroyUnreadBody({ raw }: FastifyRequest): void {
  if (raw.complete || raw.destroyed) return;
  const { socket } = raw;
  const maxBytesRead = socket.bytesRead + maxDroppedBytes;
  const timer = setInterval(() => {
    if (!raw.complete && socket.bytesRead > maxBytesRead) socket.destroy();
    if (raw.complete || socket.destroyed) clearInterval(timer);
  }, lookEveryMs).unref();
}
