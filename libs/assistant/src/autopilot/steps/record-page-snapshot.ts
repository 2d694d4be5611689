import type { PageLook } from '@muster/contracts';
import type { Work } from './work';

/** Stores the page snapshot that a worker reported. Its screenshot must be an image that this agent has uploaded. */
export async function recordPageSnapshot({ tx, session }: Work, look: PageLook): Promise<void> {
  const { organizationId, agentId } = session;
  const [picture] = look.screenshotKey
    ? await tx.query(
        `SELECT id FROM artifact
         WHERE storage_key = $1 AND agent_id = $2 AND organization_id = $3 AND kind = 'image' AND job_id IS NULL`,
        [look.screenshotKey, agentId, organizationId],
        'autopilot_picture',
      )
    : [];
  session.look = { ...look, screenshotKey: picture ? look.screenshotKey : null };
}
