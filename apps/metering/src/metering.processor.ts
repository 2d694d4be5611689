import { Inject } from '@nestjs/common';
import type { JobPayloadIds, PilotBatchPayload, ProbePayload, RecomputePayload } from '@muster/contracts';
import { answerQueueProbe, Database } from '@muster/database';
import { removeObjects } from '@muster/agents';
import { settleJobCost } from '@muster/jobs';
import { Clock, HandlesJob, type MessageInHand, ProcessesQueue, QueueProcessor } from '@muster/platform';
import { recomputeCosts } from '@muster/pricing';
import { ObjectStorage } from '@muster/storage';
import { summarizeSession } from '@muster/pilot';

@ProcessesQueue('metering')
export class MeteringProcessor extends QueueProcessor {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  @HandlesJob('metering', 'probe')
  async probe({ probeId }: ProbePayload): Promise<void> {
    await answerQueueProbe(this.database, probeId, 'metering');
  }

  @HandlesJob('metering', 'job-finished')
  async jobFinished({ jobId }: JobPayloadIds, message: MessageInHand): Promise<void> {
    await this.database.transaction('system', (tx) => {
      // A cost that a crash takes back is settled again: the message comes back with it.
      tx.handles(message);
      tx.forgettable();
      return settleJobCost(tx, jobId);
    });
  }

  @HandlesJob('metering', 'remove-objects')
  async removeObjects({ jobId }: JobPayloadIds): Promise<void> {
    await removeObjects(this.database, this.storage, { jobId, now: this.clock.now() });
  }

  @HandlesJob('metering', 'batch-ingested')
  async batchIngested({ pilotBatchId }: PilotBatchPayload): Promise<void> {
    await this.database.transaction('system', (tx) => summarizeSession(tx, pilotBatchId));
  }

  @HandlesJob('metering', 'recompute-costs')
  async recomputeCosts({ recomputeId }: RecomputePayload): Promise<void> {
    await recomputeCosts(this.database, recomputeId, (tx, jobId) => settleJobCost(tx, jobId, { anew: true }));
  }
}
