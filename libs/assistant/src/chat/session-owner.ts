import type { Principal } from '@muster/access';
import { AppError } from '@muster/contracts';

/** Returns the columns that identify a session's owner. No other caller, not even an admin, can access the session. */
export function getOwnerColumns({ kind, id, organizationId }: Principal): [string, 'user' | 'api_key', string] {
  return [organizationId, kind, id];
}

export function chatSessionNotFoundError(): AppError {
  return new AppError('not_found', { detail: 'You have no session with this id. List your sessions to find the id.' });
}
