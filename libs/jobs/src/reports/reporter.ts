import { invalidFieldError } from '@muster/contracts';
/** Throws unless the key belongs to an upload of the worker's own organization. */
export function requireOwnUploadKey(organizationId: string, key: string | null | undefined): void {
  const own = `artifacts/${organizationId}/`;
  if (!key || (key.startsWith(own) && !key.split('/').some((part) => part === '' || part === '.' || part === '..')))
    return;
  throw invalidFieldError(
    'screenshotKey',
    'screenshotKey must be the key of an upload',
    'screenshotKey must be the key of one of your uploads.',
  );
}

/**
 * The sender of a report. A worker key that is bound to an agent may report only about jobs of this agent. `agentId` is
 * null for a key without an agent, which may report about all jobs of the organization.
 */
export interface Reporter {
  organizationId: string;
  agentId: string | null;
}
