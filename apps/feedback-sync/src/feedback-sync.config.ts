import { FeedbackConfig } from '@muster/feedback';
import { readCron } from '@muster/schedules';

export class FeedbackSyncConfig extends FeedbackConfig {
  override faults(): string[] {
    const { fault } = readCron(this.feedbackReconcileCron);
    return [...super.faults(), ...(fault ? [`FEEDBACK_RECONCILE_CRON: ${fault}`] : [])];
  }
}
