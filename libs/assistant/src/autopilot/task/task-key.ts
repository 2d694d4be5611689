import { createHash } from 'node:crypto';
import type { AutopilotTask } from '@muster/contracts';

/** What makes two tasks the same: title, the steps' ids and instructions, and the site. */
export function taskKeyOf({ title, steps, startUrl }: AutopilotTask): string {
  const facts = [title, steps.map(({ id, instruction }) => [id, instruction]), originOf(startUrl)];
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

/** The site that a session may be on; null where the task names none. */
export function originOf(url: string | null | undefined): string | null {
  return url ? new URL(url).origin : null;
}
