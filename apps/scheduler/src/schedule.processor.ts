import { Inject } from '@nestjs/common';
import type { ProbePayload } from '@muster/contracts';
import { answerQueueProbe, Database } from '@muster/database';
import { HandlesJob, ProcessesQueue, QueueProcessor } from '@muster/platform';

@ProcessesQueue('schedule')
export class ScheduleProcessor extends QueueProcessor {
  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  @HandlesJob('schedule', 'probe')
  async answerProbe({ probeId }: ProbePayload): Promise<void> {
    await answerQueueProbe(this.database, probeId, 'scheduler');
  }
}
