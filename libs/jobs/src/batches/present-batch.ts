import { type Batch, microsToUsd } from '@muster/contracts';
import type { BatchRow } from './read-batches';

export function presentBatch(row: BatchRow): Batch {
  const { queued, running, completed, failed, cancelled } = row;
  const over = completed + failed + cancelled;
  const all = over + queued + running;
  return {
    id: row.id,
    workflowId: row.workflowId,
    workflowRevision: row.workflowRevision,
    createdAt: row.createdAt.toISOString(),
    createdBy: row.createdBy,
    cancelRequestedAt: row.cancelRequestedAt?.toISOString() ?? null,
    total: row.total,
    rejected: row.rejected,
    queued,
    running,
    completed,
    failed,
    cancelled,
    // The percentage is rounded down, so that it is 100 only if all runs have ended.
    progress: { percent: all === 0 ? 100 : Math.floor((1000 * over) / all) / 10 },
    claims: {
      attempted: row.claimsAttempted,
      eobUploaded: row.claimsEobUploaded,
      noEobFound: row.claimsNoEobFound,
      failed: row.claimsFailed,
    },
    costUsd: microsToUsd(row.costMicros),
  };
}
