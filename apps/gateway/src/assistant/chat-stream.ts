import { Logger } from '@nestjs/common';
import { AppError, wireCodeOf } from '@muster/contracts';
import type { FastifyReply } from 'fastify';

export interface ChatStream {
  send(event: string, data: object): void;
  fail(error: unknown): void;
  end(): void;
}

const logger = new Logger('ChatStream');

/** Takes over the connection for server-sent events. From then on, a failure must be sent as an event too. */
export function openChatStream(reply: FastifyReply, heartbeatMs: number): ChatStream {
  reply.hijack();
  const connection = reply.raw;
  connection.on('error', () => undefined);
  connection.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
  });
  const write = (text: string) => {
    if (!connection.writableEnded && !connection.destroyed) connection.write(text);
  };
  const beats = setInterval(() => write(': still here\n\n'), heartbeatMs);
  const send = (event: string, data: object) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  return {
    send,
    fail: (error) => {
      const appError = error instanceof AppError ? error : null;
      if (!appError) logger.error('a chat stream failed', { err: error });
      const detail = appError?.message ?? 'Something failed on our side; it is logged.';
      send('error', { code: wireCodeOf(appError?.code ?? 'internal_error'), detail });
    },
    end: () => {
      clearInterval(beats);
      if (!connection.writableEnded) connection.end();
    },
  };
}
