import { AppError } from '@muster/contracts';
import type { FastifyRequest } from 'fastify';

/** Returns the id of the last event that the reader has received; undefined if the header is absent. */
export function getLastEventId(request: FastifyRequest): string | undefined {
  const header = request.headers['last-event-id'];
  if (header === undefined || header === '') return undefined;
  if (typeof header === 'string' && /^\d{1,20}$/.test(header)) return header;
  throw new AppError('invalid_payload', {
    detail: 'Last-Event-ID must be the id of an event of this stream. To start from now, send no id.',
  });
}
