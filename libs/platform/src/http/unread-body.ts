import type { FastifyReply, FastifyRequest } from 'fastify';

/** More than the largest body that any route takes, or that the proxy lets through. */
const maxDroppedBytes = 128 * 1024 * 1024;

/**
 * For an answer that comes before its request's body is read. A connection that is closed then loses the answer: who
 * is still sending, a proxy above all, sees an error of its own. So what still comes is read and dropped.
 */
export function keepForUnread(request: FastifyRequest, reply: FastifyReply): void {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced <= maxDroppedBytes) void reply.removeHeader('connection');
}

export function dropUnread({ raw }: FastifyRequest): void {
  if (raw.complete || raw.destroyed) return;
  let left = maxDroppedBytes;
  raw.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) raw.destroy();
  });
  raw.on('error', () => undefined);
  raw.resume();
}
