import { Inject } from '@nestjs/common';
import type { JobPayloadIds, PilotBatchPayload, ProbePayload, RecomputePayload } from '@muster/contracts';
import { answerQueueProbe, Database } from '@muster/database';
import { removeObjects } from '@muster/commands';
import { bookJobCost, bookJobCosts } from '@muster/jobs';
import { Clock, Coalescer, HandlesJob, ProcessesQueue, QueueProcessor, type ReceivedMessage } from '@muster/platform';
import { recomputeCosts } from '@muster/pricing';
import { ObjectStorage } from '@muster/storage';
import { summarizeSession } from '@muster/pilot';

interface Finished {
  jobId: string;
  message: ReceivedMessage;
}

const bookingBatchSize = 50;

@ProcessesQueue('metering')
export class MeteringProcessor extends QueueProcessor {
  /** Collects runs that end during a booking. The next booking books them together, with one update of each counter. */
  private readonly finished = new Coalescer<Finished, Error | undefined>(async (runs) => {
    const faults = new Map<Finished, Error>();
    const fault = await this.bookRuns(runs).catch((error: Error) => error);
    // If the booking fails, book each run separately, so that one failing run does not block the others.
    for (const run of fault ? runs : []) {
      await this.bookRuns([run]).catch((error: Error) => faults.set(run, error));
    }
    return (run) => faults.get(run);
  }, bookingBatchSize);

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  @HandlesJob('metering', 'probe')
  async answerProbe({ probeId }: ProbePayload): Promise<void> {
    await answerQueueProbe(this.database, probeId, 'metering');
  }

  @HandlesJob('metering', 'job-finished')
  async bookFinishedJob({ jobId }: JobPayloadIds, message: ReceivedMessage): Promise<void> {
    const fault = await this.finished.addItem({ jobId, message });
    if (fault) throw fault;
  }

  @HandlesJob('metering', 'remove-objects')
  async removeObjects({ jobId }: JobPayloadIds): Promise<void> {
    await removeObjects(this.database, this.storage, { jobId, now: this.clock.now() });
  }

  @HandlesJob('metering', 'batch-ingested')
  async summarizeIngestedBatch({ pilotBatchId }: PilotBatchPayload): Promise<void> {
    await this.database.transaction('system', (tx) => summarizeSession(tx, pilotBatchId));
  }

  @HandlesJob('metering', 'recompute-costs')
  async recomputeCosts({ recomputeId }: RecomputePayload): Promise<void> {
    await recomputeCosts(this.database, recomputeId, (tx, jobId) => bookJobCost(tx, jobId, { reprice: true }));
  }

  private async bookRuns(runs: Finished[]): Promise<void> {
    await this.database.transaction('system', async (tx) => {
      // A crash may lose this commit. The message is then handled again, and the cost is booked again.
      for (const { message } of runs) tx.markMessageHandled(message);
      tx.allowUnflushedCommit();
      await bookJobCosts(
        tx,
        runs.map(({ jobId }) => jobId),
      );
    });
  }
}
