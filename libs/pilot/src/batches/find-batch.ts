import { notFoundError } from '@muster/contracts';
import type { Database, PilotBatchEntity, PilotClaimResultEntity, PilotStopEventEntity } from '@muster/database';
import { batchColumns, type BatchRow, batchSource } from './list-batches';

type ClaimRow = Pick<
  PilotClaimResultEntity,
  'id' | 'claimIndex' | 'claimId' | 'npi' | 'outcome' | 'processingMicros' | 'message' | 'metadata'
>;
type StopRow = Pick<PilotStopEventEntity, 'reason' | 'at' | 'detail' | 'metadata'>;

export interface FoundBatch {
  batch: BatchRow & Pick<PilotBatchEntity, 'totals' | 'metadata'>;
  claims: ClaimRow[];
  stops: StopRow[];
}

/** Reads a batch with its claims and stop events. The lock keeps all of them consistent with each other. */
export function findPilotBatch(database: Database, organizationId: string, batchId: string): Promise<FoundBatch> {
  return database.transaction({ organizationId }, async (tx) => {
    const [batch] = await tx.query<FoundBatch['batch']>(
      `SELECT ${batchColumns}, b.totals, b.metadata FROM ${batchSource}
       WHERE b.organization_id = $1 AND b.batch_id = $2 FOR SHARE OF b`,
      [organizationId, batchId],
    );
    if (!batch) throw notFoundError('batch');
    const claims = await tx.query<ClaimRow>(
      `SELECT id, claim_index, claim_id, npi, outcome,
              processing_micros, message, metadata
       FROM pilot_claim_result WHERE pilot_batch_id = $1 ORDER BY claim_index`,
      [batch.id],
    );
    const stops = await tx.query<StopRow>(
      'SELECT reason, at, detail, metadata FROM pilot_stop_event WHERE pilot_batch_id = $1 ORDER BY event_index',
      [batch.id],
    );
    return { batch, claims, stops };
  });
}
