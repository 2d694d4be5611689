import type { Transaction } from '@muster/database';

/** Copies the processing times of a batch's claims to its metric. Call it after the claims are inserted. */
export async function insertRoiMetric(tx: Transaction, pilotBatchId: string): Promise<void> {
  await tx.execute(
    `INSERT INTO pilot_roi_metric (pilot_batch_id, organization_id, processing_micros)
     SELECT b.id, b.organization_id, ARRAY(
       SELECT c.processing_micros FROM pilot_claim_result c
       WHERE c.pilot_batch_id = b.id AND c.processing_micros IS NOT NULL ORDER BY 1)
     FROM pilot_batch b WHERE b.id = $1`,
    [pilotBatchId],
    'insert_roi_metric',
  );
}
