import { EnvFlag, EnvInt, EnvText } from '@muster/platform';
import { TrackersConfig } from '@muster/trackers';

/** Configuration of the synchronization of feedback with the trackers. */
export class FeedbackConfig extends TrackersConfig {
  @EnvFlag('FEEDBACK_AUTOMATION_ENABLED', {
    description: 'Whether feedback is sent to the trackers. While it is false, feedback is accepted and waits.',
    default: false,
  })
  readonly feedbackAutomation!: boolean;

  @EnvInt('FEEDBACK_AUTOMATION_WORKER_INTERVAL_MS', {
    description:
      'Interval in milliseconds at which due work items are synchronized. Most are synchronized earlier, when an ' +
      'event occurs.',
    default: 15_000,
    min: 20,
  })
  readonly feedbackIntervalMs!: number;

  @EnvFlag('FEEDBACK_AUTOMATION_BRANCHES', {
    description: 'Whether a branch feedback/<last 12 characters of the id> is created for each bug and workflow issue.',
    default: false,
  })
  readonly feedbackBranches!: boolean;

  @EnvText('FEEDBACK_AUTOMATION_BASE_BRANCH', {
    description: 'Branch from which the feedback branches are created.',
    default: 'main',
  })
  readonly feedbackBaseBranch!: string;

  @EnvInt('FEEDBACK_SYNC_ATTEMPTS', {
    description:
      'Number of consecutive failures after which a work item is no longer synchronized until an operator replays ' +
      'it.',
    default: 20,
    min: 1,
  })
  readonly feedbackAttempts!: number;

  @EnvText('FEEDBACK_RECONCILE_CRON', {
    description: 'Cron expression, in UTC, for comparing all linked work items with their trackers.',
    default: '17 3 * * *',
  })
  readonly feedbackReconcileCron!: string;
}
