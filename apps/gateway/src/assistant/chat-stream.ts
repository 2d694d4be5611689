import { Logger } from '@nestjs/common';
import { AppError, wireCodeOf } from '@muster/contracts';
import { eventFrame } from '@muster/platform';
import type { FastifyReply } from 'fastify';
import { eventStreamType, startResponse } from '../open-stream';

export interface ChatStream {
  send(event: string, data: object): void;
  fail(error: unknown): void;
  end(): void;
}

const logger = new Logger('ChatStream');

/** Takes over the connection for server-sent events. From then on, a failure must be sent as an event too. */
export function openChatStream(reply: FastifyReply, heartbeatMs: number): ChatStream {
  const connection = startResponse(reply, { 'content-type': eventStreamType });
  connection.on('error', () => undefined);
  const write = (text: string) => {
    if (!connection.writableEnded && !connection.destroyed) connection.write(text);
  };
  const beats = setInterval(() => write(': still here\n\n'), heartbeatMs);
  const send = (event: string, data: object) => write(eventFrame({ event, data }));
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
