import { type Machine, MachineError } from './machine';

export interface Mark {
  /** Kind and name of the machine, for the error message. */
  name: string;
  marked: 'tagged' | 'labelled';
  key: string;
  /** Value of the machine's tag or label with this key. */
  value: string | null | undefined;
}

/**
 * Throws unless the machine is marked as the organization's. Otherwise a user who may create agents could control every
 * machine that the deployment's credentials reach. The error does not name the actual owner.
 */
export function requireOrganizationMark({ organizationId }: Machine, { name, marked, key, value }: Mark): void {
  if (value === organizationId) return;
  const verb = marked === 'tagged' ? 'tag' : 'label';
  throw new MachineError(
    'not_ours',
    `The ${name} is not ${marked} as this organization’s, so the service does not control it: ${verb} it ${key}=${organizationId}.`,
  );
}
