import { invalidField } from '@muster/contracts';
/** Throws if the key does not belong to an upload of the worker's own organization. */
export function requireOwnKey(organizationId: string, key: string | null | undefined): void {
  const own = `artifacts/${organizationId}/`;
  if (!key || (key.startsWith(own) && !key.split('/').some((part) => part === '' || part === '.' || part === '..')))
    return;
  throw invalidField(
    'screenshotKey',
    'screenshotKey must be the key of an upload',
    'screenshotKey must be the key of one of your uploads.',
  );
}

/**
 * The sender of a report. A worker key that is bound to an agent reports only on the jobs of this agent. `agentId` is
 * null for an unbound key, which reports on all jobs of the organization.
 */
export interface Reporter {
  organizationId: string;
  agentId: string | null;
}
