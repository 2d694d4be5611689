import { AppError, type DeadLetter } from '@muster/contracts';
import type { OutboxEntity } from '@muster/database';

export function presentDeadLetter(letter: OutboxEntity): DeadLetter {
  return {
    id: letter.id,
    organizationId: letter.organizationId,
    queue: letter.queue,
    name: letter.name,
    payload: letter.payload,
    attempts: letter.attempts,
    lastError: letter.lastError,
    createdAt: letter.createdAt.toISOString(),
  };
}

export function createDeadLetterNotFoundError(): AppError {
  return new AppError('not_found', {
    detail:
      'There is no dead letter with this id: it was replayed, was deleted, or never existed. List the dead letters ' +
      'again.',
  });
}
