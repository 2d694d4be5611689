import type { Principal } from '@muster/access';
import { AppError } from '@muster/contracts';

/** A session is its owner's and nobody else's, an admin's included. */
export function ownerOf({ kind, id, organizationId }: Principal): [string, 'user' | 'api_key', string] {
  return [organizationId, kind, id];
}

export function noSuchSession(): AppError {
  return new AppError('not_found', { detail: 'There is no such session.' });
}
