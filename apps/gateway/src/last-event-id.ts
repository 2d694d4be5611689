import { AppError } from '@muster/contracts';
import type { FastifyRequest } from 'fastify';

/** Returns the id of the last event that the reader has received; undefined if the header is absent. */
export function lastEventIdOf(request: FastifyRequest): string | undefined {
  const given = request.headers['last-event-id'];
  if (given === undefined || given === '') return undefined;
  if (typeof given === 'string' && /^\d{1,20}$/.test(given)) return given;
  throw new AppError('invalid_payload', { detail: 'Last-Event-ID must be the id of an event of this stream.' });
}
