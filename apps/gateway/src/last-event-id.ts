import { AppError } from '@muster/contracts';
import type { FastifyRequest } from 'fastify';

/** What the reader of a stream has seen; undefined where it says nothing of that. */
export function lastEventIdOf(request: FastifyRequest): string | undefined {
  const given = request.headers['last-event-id'];
  if (given === undefined || given === '') return undefined;
  if (typeof given === 'string' && /^\d{1,20}$/.test(given)) return given;
  throw new AppError('invalid_payload', { detail: 'Last-Event-ID must be the id of an event of this stream.' });
}
