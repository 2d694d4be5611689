import { type Machine, MachineError } from './machine';

export interface Mark {
  /** The machine, as its provider calls it. */
  what: string;
  marked: 'tagged' | 'labelled';
  key: string;
  /** What the machine carries under the key. */
  value: string | null | undefined;
}

/**
 * Throws unless the machine says itself that it is the organization's. Whoever may make agents could otherwise switch
 * everything that the deployment's credentials reach. Whose else it is, is not told.
 */
export function requireMark({ organizationId }: Machine, { what, marked, key, value }: Mark): void {
  if (value === organizationId) return;
  const verb = marked === 'tagged' ? 'tag' : 'label';
  throw new MachineError(
    'not_ours',
    `The ${what} is not ${marked} as this organization’s and is left alone: ${verb} it ${key}=${organizationId}.`,
  );
}
