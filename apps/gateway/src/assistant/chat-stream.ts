import { Logger } from '@nestjs/common';
import { AppError, toWireCode } from '@muster/contracts';
import { formatEventFrame } from '@muster/platform';
import type { FastifyReply } from 'fastify';
import { eventStreamType, startResponse } from '../open-event-stream';

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
  const writeText = (text: string) => {
    if (!connection.writableEnded && !connection.destroyed) connection.write(text);
  };
  const beats = setInterval(() => writeText(': still here\n\n'), heartbeatMs);
  const sendEvent = (event: string, data: object) => writeText(formatEventFrame({ event, data }));
  return {
    send: sendEvent,
    fail: (error) => {
      const appError = error instanceof AppError ? error : null;
      if (!appError) logger.error('a chat stream failed', { err: error });
      const detail =
        appError?.message ??
        'The service failed because of a defect, and has logged it. Try again; if it fails again, report the ' +
          'request id to the operator.';
      sendEvent('error', { code: toWireCode(appError?.code ?? 'internal_error'), detail });
    },
    end: () => {
      clearInterval(beats);
      if (!connection.writableEnded) connection.end();
    },
  };
}
