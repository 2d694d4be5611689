import { EnvFlag, EnvInt, EnvText } from '@muster/platform';
import { TrackersConfig } from '@muster/trackers';

/** Configuration of the synchronization of feedback with the trackers. */
export class FeedbackConfig extends TrackersConfig {
  @EnvFlag('FEEDBACK_AUTOMATION_ENABLED', {
    description:
      'Whether feedback is sent to the issue trackers. While it is false, feedback is stored and sent later.',
    default: false,
  })
  readonly feedbackAutomation!: boolean;

  @EnvInt('FEEDBACK_AUTOMATION_WORKER_INTERVAL_MS', {
    description:
      'Interval in milliseconds at which feedback is synchronized with the trackers, in case an event was lost. ' +
      'Most changes are synchronized as soon as they occur.',
    default: 15_000,
    min: 20,
  })
  readonly feedbackIntervalMs!: number;

  @EnvFlag('FEEDBACK_AUTOMATION_BRANCHES', {
    description:
      'Whether a branch feedback/<last 12 characters of the submission’s id> is created in the repository for each ' +
      'bug report and workflow issue.',
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
      'Number of consecutive failures after which a feedback submission is no longer synchronized until an operator ' +
      'retries it in the console.',
    default: 20,
    min: 1,
  })
  readonly feedbackAttempts!: number;

  @EnvText('FEEDBACK_RECONCILE_CRON', {
    description:
      'Cron expression, in UTC, of the times at which all feedback is compared with its issues and tasks in the ' +
      'trackers.',
    default: '17 3 * * *',
  })
  readonly feedbackReconcileCron!: string;
}
