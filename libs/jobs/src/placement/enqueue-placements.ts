import type { Transaction } from '@muster/database';

/**
 * Enqueues a placement of the organization's jobs without an agent, if it has any. Called after a change that may let
 * them start and that no agent's own dispatch follows: a key, an account or a slot of the organization comes free.
 * The message names no job, because only its handler sees what has been committed by then; so its cost does not depend
 * on how many jobs or agents there are.
 */
export function enqueuePlacementOfJobs(tx: Transaction, organizationId: string): void {
  tx.enqueueIf(isUnplacedJobQueued, [organizationId], {
    queue: 'dispatch',
    name: 'place-jobs',
    payload: { organizationId },
  });
}

const isUnplacedJobQueued = {
  name: 'if_unplaced',
  columns: { organization_id: 'uuid' },
  holds: `LATERAL (
    SELECT 1 AS one FROM job
    WHERE organization_id = input.organization_id AND status = 'queued' AND agent_id IS NULL LIMIT 1) waiting`,
};
