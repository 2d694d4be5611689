import { Autopilot } from '@muster/assistant';
import type { ProbePayload, SessionPayload } from '@muster/contracts';
import { answerQueueProbe, Database } from '@muster/database';
import { HandlesJob, ProcessesQueue, QueueProcessor, type ReceivedMessage } from '@muster/platform';
import { Inject } from '@nestjs/common';

@ProcessesQueue('autopilot')
export class AutopilotProcessor extends QueueProcessor {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Autopilot) private readonly autopilot: Autopilot,
  ) {
    super();
  }

  @HandlesJob('autopilot', 'probe')
  async answerProbe({ probeId }: ProbePayload): Promise<void> {
    await answerQueueProbe(this.database, probeId, 'dispatcher');
  }

  @HandlesJob('autopilot', 'advance-session')
  async advanceSession({ sessionId }: SessionPayload, message: ReceivedMessage): Promise<void> {
    await this.autopilot.advanceSession(sessionId, message);
  }
}
