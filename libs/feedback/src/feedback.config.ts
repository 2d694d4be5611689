import { EnvFlag, EnvInt, EnvText } from '@muster/platform';
import { TrackersConfig } from '@muster/trackers';

/** What of feedback goes to the trackers, and when. */
export class FeedbackConfig extends TrackersConfig {
  @EnvFlag('FEEDBACK_AUTOMATION_ENABLED', {
    description: 'Brings feedback to the trackers. While it is off, feedback is taken and waits.',
    default: false,
  })
  readonly feedbackAutomation!: boolean;

  @EnvInt('FEEDBACK_AUTOMATION_WORKER_INTERVAL_MS', {
    description: 'How often work items are looked for that are due; most are looked at when something happens.',
    default: 15_000,
    min: 20,
  })
  readonly feedbackIntervalMs!: number;

  @EnvFlag('FEEDBACK_AUTOMATION_BRANCHES', {
    description: 'Makes a branch feedback/<last 12 of the id> for bugs and workflow issues.',
    default: false,
  })
  readonly feedbackBranches!: boolean;

  @EnvText('FEEDBACK_AUTOMATION_BASE_BRANCH', { description: 'Where those branches begin.', default: 'main' })
  readonly feedbackBaseBranch!: string;

  @EnvInt('FEEDBACK_SYNC_ATTEMPTS', {
    description: 'A work item whose tracker fails so often in a row is given up until somebody replays it.',
    default: 20,
    min: 1,
  })
  readonly feedbackAttempts!: number;

  @EnvText('FEEDBACK_RECONCILE_CRON', {
    description: 'When all linked work items are compared with their trackers, in UTC.',
    default: '17 3 * * *',
  })
  readonly feedbackReconcileCron!: string;
}
