import { Inject } from '@nestjs/common';
import type { ProbePayload, SubmissionPayload } from '@muster/contracts';
import { answerQueueProbe, Database } from '@muster/database';
import { HandlesJob, ProcessesQueue, QueueProcessor } from '@muster/platform';
import { FeedbackWork } from './feedback-work';

@ProcessesQueue('feedback')
export class FeedbackProcessor extends QueueProcessor {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(FeedbackWork) private readonly work: FeedbackWork,
  ) {
    super();
  }

  @HandlesJob('feedback', 'probe')
  async answerProbe({ probeId }: ProbePayload): Promise<void> {
    await answerQueueProbe(this.database, probeId, 'feedback-sync');
  }

  @HandlesJob('feedback', 'sync-work-item')
  async syncWorkItem({ submissionId }: SubmissionPayload): Promise<void> {
    await this.work.syncSubmission(submissionId);
  }
}
