import { createHash } from 'node:crypto';
import { AppError } from '@muster/contracts';

/** Returns a strong entity tag for a resource's revision. */
export function toEtag(revision: string | number): string {
  return `"${revision}"`;
}

/** Returns a hash of the content as the revision of a resource without a revision number. */
export function computeContentRevision(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22);
}

/** Throws precondition_failed if a change was made against another revision than the current one. */
export function requireEtagMatch(ifMatch: string | undefined, current: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return;
  const tags = ifMatch.split(',').map((tag) => tag.trim());
  if (!tags.includes(current)) {
    throw new AppError('precondition_failed', {
      detail: 'The resource has changed since you read it. Read it again and repeat the change.',
      headers: { etag: current },
    });
  }
}
