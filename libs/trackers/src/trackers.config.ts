import { BaseConfig, type ChecksItself, EnvInt, EnvText, EnvUrl } from '@muster/platform';

/** Where the trackers are, and with what they know us. */
export class TrackersConfig extends BaseConfig implements ChecksItself {
  @EnvUrl('FEEDBACK_CODEHOST_API_URL', {
    description: 'GitHub’s REST API, or what speaks it, with its version path where it has one.',
    protocols: ['http:', 'https:'],
    default: 'https://api.github.com',
  })
  readonly codehostApiUrl!: string;

  @EnvText('FEEDBACK_CODEHOST_TOKEN', {
    description: 'May read and write issues, and contents where branches are made. Without it no issues are made.',
    optional: true,
    secret: true,
  })
  readonly codehostToken?: string;

  @EnvText('FEEDBACK_CODEHOST_REPOSITORY', {
    description: 'owner/name; belongs to FEEDBACK_CODEHOST_TOKEN.',
    optional: true,
    pattern: /^[\w.-]+\/[\w.-]+$/,
  })
  readonly codehostRepository?: string;

  @EnvUrl('FEEDBACK_TASKTRACKER_API_URL', {
    description: 'ClickUp’s REST API, or what speaks it, with its version path.',
    protocols: ['http:', 'https:'],
    default: 'https://api.clickup.com/api/v2',
  })
  readonly tasktrackerApiUrl!: string;

  @EnvText('FEEDBACK_TASKTRACKER_TOKEN', {
    description: 'A personal or an OAuth token. Without it no tasks are made.',
    optional: true,
    secret: true,
  })
  readonly tasktrackerToken?: string;

  @EnvText('FEEDBACK_TASKTRACKER_LIST_ID', {
    description: 'The list that tasks are made in; belongs to FEEDBACK_TASKTRACKER_TOKEN.',
    optional: true,
    pattern: /^[\w-]{1,100}$/,
  })
  readonly tasktrackerListId?: string;

  @EnvInt('FEEDBACK_TRACKER_TIMEOUT_MS', {
    description: 'A call to a tracker without an answer by then is given up, and asked about later.',
    default: 10_000,
    min: 50,
  })
  readonly trackerTimeoutMs!: number;

  get configured(): { codehost: boolean; tasktracker: boolean } {
    return {
      codehost: Boolean(this.codehostToken && this.codehostRepository),
      tasktracker: Boolean(this.tasktrackerToken && this.tasktrackerListId),
    };
  }

  faults(): string[] {
    const pairs = [
      ['FEEDBACK_CODEHOST_TOKEN', this.codehostToken, 'FEEDBACK_CODEHOST_REPOSITORY', this.codehostRepository],
      ['FEEDBACK_TASKTRACKER_TOKEN', this.tasktrackerToken, 'FEEDBACK_TASKTRACKER_LIST_ID', this.tasktrackerListId],
    ];
    return pairs.flatMap(([one, its, other, others]) =>
      Boolean(its) === Boolean(others) ? [] : [`${one} and ${other} belong together`],
    );
  }
}
