import type { FastifyReply, FastifyRequest } from 'fastify';

/** More than the largest body that any route takes, or that the proxy lets through. */
const maxDroppedBytes = 128 * 1024 * 1024;

const lookEveryMs = 250;

/**
 * For an answer that comes before its request's body is read. A connection that is closed then loses the answer: who
 * is still sending, a proxy above all, sees an error of its own. So what still comes is dropped; Node does that where
 * the connection stays.
 */
export function keepForUnread(request: FastifyRequest, reply: FastifyReply): void {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced <= maxDroppedBytes) void reply.removeHeader('connection');
  else void reply.header('connection', 'close');
}

/** Who goes on for ever is cut off. */
export function dropUnread({ raw }: FastifyRequest): void {
  if (raw.complete || raw.destroyed) return;
  const { socket } = raw;
  const most = socket.bytesRead + maxDroppedBytes;
  const timer = setInterval(() => {
    if (!raw.complete && socket.bytesRead > most) socket.destroy();
    if (raw.complete || socket.destroyed) clearInterval(timer);
  }, lookEveryMs).unref();
}
