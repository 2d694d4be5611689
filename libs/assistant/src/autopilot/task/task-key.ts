import { createHash } from 'node:crypto';
import type { AutopilotTask } from '@muster/contracts';

/**
 * Returns a hash of what identifies a task: title, ids and instructions of the steps, and the origin of its start URL.
 */
export function hashTask({ title, steps, startUrl }: AutopilotTask): string {
  const facts = [title, steps.map(({ id, instruction }) => [id, instruction]), parseOriginOrNull(startUrl)];
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

/** Returns the origin that a session may visit; null if the task has no start URL. */
export function parseOriginOrNull(url: string | null | undefined): string | null {
  return url ? new URL(url).origin : null;
}
