import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import {
  AppError,
  type ErrorCode,
  errorTable,
  type FieldError,
  maxDetailLength,
  maxFieldErrors,
  shortenText,
  toWireCode,
} from '@muster/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestContext } from '../context/request-context';
import { drainUnreadBody } from './bodies/unread-body';

/** Converts an error of another library to an AppError. The lib that owns the library registers the reader. */
export type ErrorReader = (error: unknown) => AppError | undefined;

const problemType = 'application/problem+json; charset=utf-8';

const readers: ErrorReader[] = [readHttpException, readFastifyError];

export function registerErrorReader(reader: ErrorReader): void {
  if (!readers.includes(reader)) readers.push(reader);
}

/** Answers every failed request with problem+json. The response to an unexpected error contains none of its details. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('http');

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendProblem(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), error, this.logger);
  }
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown, logger: Logger): void {
  const thrown = toAppError(error);
  const mapped = request.routeOptions?.config?.failsAs?.(thrown, request) ?? thrown;
  if (!thrown) logger.error('request failed', { err: error, method: request.method, url: getLoggedPath(request) });
  else if (thrown.status >= 500)
    logger.warn(`${thrown.code}: ${thrown.message}`, { err: thrown.options.cause ?? thrown });
  if (reply.sent || reply.raw.headersSent) return;
  // After a timeout, the response does not wait for the rest of the request's body.
  if (thrown?.code !== 'request_timeout') drainUnreadBody(request, reply);
  const answer =
    mapped ??
    new AppError('internal_error', {
      detail:
        'The service failed because of a defect, and has logged it. Try again; if it fails again, report the ' +
        'request id to the operator.',
    });
  void reply
    .status(answer.status)
    .headers({ ...(answer.status === 503 ? { 'retry-after': '2' } : {}), ...answer.options.headers })
    .type(answer.options.contentType ?? problemType)
    .send(
      JSON.stringify(
        toProblemResponse(answer, { instance: getRequestPath(request), requestId: findRequestId(request) }),
      ),
    );
}

/** Returns the path for the log; the route if the path contains a secret. */
function getLoggedPath(request: FastifyRequest): string {
  const { config, url } = request.routeOptions ?? {};
  return config?.secretPath ? (url ?? '') : getRequestPath(request);
}

function findRequestId(request: FastifyRequest): string | undefined {
  return request.requestId ?? getRequestContext()?.requestId;
}

const unreadable: Record<string, AppError> = {
  HPE_HEADER_OVERFLOW: new AppError('invalid_payload', {
    detail: 'The headers of the request have more than 16 KiB. Send fewer or shorter headers.',
  }),
  ERR_HTTP_REQUEST_TIMEOUT: new AppError('request_timeout', {
    detail: 'The request did not arrive in time. Send it again.',
  }),
};

/**
 * Answers bytes that are not a complete HTTP request, and closes the connection, because it is unknown where the next
 * request would begin. The response says so, so that the client does not send its next request on this connection.
 */
export function answerUnreadableRequest(
  fault: Error & { code: string },
  socket: Socket,
  headers: Record<string, string>,
): void {
  if (fault.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const error =
    unreadable[fault.code] ??
    new AppError('invalid_payload', { detail: `The service cannot read this as an HTTP request: ${fault.message}` });
  const body = JSON.stringify(toProblemResponse(error, { instance: '', requestId: randomUUID() }));
  const lines = Object.entries({
    ...headers,
    'content-type': problemType,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroy(),
  );
}

interface ProblemOrigin {
  instance: string;
  requestId: string | undefined;
}

function toProblemResponse(error: AppError, { instance, requestId }: ProblemOrigin): Record<string, unknown> {
  const code = toWireCode(error.code);
  return {
    type: `https://muster.dev/errors/${code}`,
    title: errorTable[error.code].title,
    status: error.status,
    detail: shortenText(error.message, maxDetailLength),
    code,
    instance: shortenText(instance, maxDetailLength),
    requestId,
    ...(error.options.errors ? { errors: error.options.errors.slice(0, maxFieldErrors).map(shortenFieldError) } : {}),
    ...error.options.extra,
  };
}

function shortenFieldError({ field, message }: FieldError): FieldError {
  return { field: shortenText(field, 200), message: shortenText(message, 500) };
}

export function toAppError(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  for (const read of readers) {
    const appError = read(error);
    if (appError) return appError;
  }
  return undefined;
}

const codeOfStatus: Record<number, ErrorCode> = {
  400: 'invalid_payload',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  503: 'service_unavailable',
};

function readHttpException(error: unknown): AppError | undefined {
  if (!(error instanceof HttpException)) return undefined;
  const code = codeOfStatus[error.getStatus()];
  if (!code) return undefined;
  return new AppError(code, {
    detail: code === 'not_found' ? 'This path does not exist. Check the address.' : error.message,
    cause: error,
  });
}

function readFastifyError(error: unknown): AppError | undefined {
  const { code, statusCode } = (error ?? {}) as { code?: string; statusCode?: number };
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new AppError('unsupported_media_type', {
      detail: 'The Content-Type of the request is not accepted. Send application/json.',
    });
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new AppError('payload_too_large', {
      detail: 'The body is larger than this operation accepts. Send a smaller body.',
    });
  if (code === 'FST_ERR_CTP_EMPTY_JSON_BODY')
    return new AppError('invalid_payload', { detail: 'The request has no body. Send a JSON object.' });
  if (code?.startsWith('FST_') && code !== 'FST_ERR_BAD_URL' && statusCode && statusCode < 500) {
    return new AppError(codeOfStatus[statusCode] ?? 'invalid_payload', { detail: (error as Error).message });
  }
  if (code === 'FST_ERR_BAD_URL' || error instanceof URIError)
    return new AppError('invalid_payload', { detail: 'The URL is not valid. Check its encoding.' });
  return undefined;
}

function getRequestPath(request: FastifyRequest): string {
  return (request.url ?? '').split('?')[0]!;
}
