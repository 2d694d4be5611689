import { invalidField } from '@muster/contracts';
/** A worker shows its own organization's pictures, and no one else's. */
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

/** Whose reports are believed: an agent's own, or, with a key that is bound to none, any agent's of the organization. */
export interface Reporter {
  organizationId: string;
  agentId: string | null;
}
