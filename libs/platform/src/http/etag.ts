import { createHash } from 'node:crypto';
import { AppError } from '@muster/contracts';

/** A strong tag of a resource's revision. */
export function etagOf(revision: string | number): string {
  return `"${revision}"`;
}

/** Of what has no number of its own: what it says is its revision. */
export function revisionOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22);
}

/** Refuses a change that was made against another revision than the current one. */
export function requireMatch(ifMatch: string | undefined, current: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return;
  const given = ifMatch.split(',').map((tag) => tag.trim());
  if (!given.includes(current)) {
    throw new AppError('precondition_failed', {
      detail: 'The resource has changed since you read it. Read it again and repeat the change.',
      headers: { etag: current },
    });
  }
}
