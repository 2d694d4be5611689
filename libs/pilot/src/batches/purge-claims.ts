import { purgeByRetention } from '@muster/access';
import type { Database, PilotBatchEntity } from '@muster/database';
import type { Round } from '@muster/platform';

/**
 * Deletes the claims of batches after each organization's retention period, one batch per transaction. The totals stay
 * on the batch and the processing times in its metric, so the return on investment does not change.
 */
export async function purgeBatchClaims(database: Database, round: Round, now: Date): Promise<{ batchClaims: number }> {
  const { purged } = await purgeByRetention(database, round, {
    name: 'claims of batches',
    keptFor: 'claimRetentionDays',
    now,
    step: (organizationId, before) =>
      database.transaction('system', async (tx) => {
        const [batch] = await tx.query<Pick<PilotBatchEntity, 'id'>>(
          `SELECT b.id FROM pilot_batch b JOIN pilot_roi_metric m ON m.pilot_batch_id = b.id
           WHERE b.organization_id = $1 AND b.occurred_at < $2 AND NOT m.claims_gone
           ORDER BY b.occurred_at LIMIT 1 FOR UPDATE OF b SKIP LOCKED`,
          [organizationId, before],
          'batch_to_purge',
        );
        if (!batch) return 0;
        await tx.execute('UPDATE pilot_roi_metric SET claims_gone = true WHERE pilot_batch_id = $1', [batch.id]);
        await tx.execute('DELETE FROM pilot_claim_result WHERE pilot_batch_id = $1', [batch.id]);
        return 1;
      }),
  });
  return { batchClaims: purged };
}
