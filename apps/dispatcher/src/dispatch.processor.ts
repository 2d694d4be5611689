import { Inject } from '@nestjs/common';
import type { ProbePayload } from '@muster/contracts';
import { answerQueueProbe, Database } from '@muster/database';
import { HandlesJob, ProcessesQueue, QueueProcessor } from '@muster/platform';

@ProcessesQueue('dispatch')
export class DispatchProcessor extends QueueProcessor {
  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  @HandlesJob('dispatch', 'probe')
  async probe({ probeId }: ProbePayload): Promise<void> {
    await answerQueueProbe(this.database, probeId, 'dispatcher');
  }
}
