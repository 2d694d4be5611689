import { FeedbackConfig } from '@muster/feedback';
import { parseCronOrFault } from '@muster/schedules';

export class FeedbackSyncConfig extends FeedbackConfig {
  override findFaults(): string[] {
    const { fault } = parseCronOrFault(this.feedbackReconcileCron);
    return [...super.findFaults(), ...(fault ? [`FEEDBACK_RECONCILE_CRON: ${fault}`] : [])];
  }
}
