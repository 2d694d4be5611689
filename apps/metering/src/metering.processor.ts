import { Inject } from '@nestjs/common';
import type { JobPayloadIds, ProbePayload } from '@muster/contracts';
import { answerQueueProbe, Database } from '@muster/database';
import { settleJobCost } from '@muster/jobs';
import { HandlesJob, ProcessesQueue, QueueProcessor } from '@muster/platform';

@ProcessesQueue('metering')
export class MeteringProcessor extends QueueProcessor {
  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  @HandlesJob('metering', 'probe')
  async probe({ probeId }: ProbePayload): Promise<void> {
    await answerQueueProbe(this.database, probeId, 'metering');
  }

  @HandlesJob('metering', 'job-finished')
  async jobFinished({ jobId }: JobPayloadIds): Promise<void> {
    await this.database.transaction('system', (tx) => settleJobCost(tx, jobId));
  }
}
