import { BaseConfig, type ChecksItself, EnvInt, EnvText, EnvUrl } from '@muster/platform';

/** Addresses and credentials of the trackers. */
export class TrackersConfig extends BaseConfig implements ChecksItself {
  @EnvUrl('FEEDBACK_CODEHOST_API_URL', {
    description: 'Base URL of GitHub’s REST API or a compatible one, with its version path if it has one.',
    protocols: ['http:', 'https:'],
    default: 'https://api.github.com',
  })
  readonly codehostApiUrl!: string;

  @EnvText('FEEDBACK_CODEHOST_TOKEN', {
    description:
      'GitHub token that can read and write issues, and contents if branches are created. If absent, no issues are ' +
      'created.',
    optional: true,
    secret: true,
  })
  readonly codehostToken?: string;

  @EnvText('FEEDBACK_CODEHOST_REPOSITORY', {
    description: 'Repository in which issues are created, as owner/name. Requires FEEDBACK_CODEHOST_TOKEN.',
    optional: true,
    pattern: /^[\w.-]+\/[\w.-]+$/,
  })
  readonly codehostRepository?: string;

  @EnvUrl('FEEDBACK_TASKTRACKER_API_URL', {
    description: 'Base URL of ClickUp’s REST API or a compatible one, with its version path.',
    protocols: ['http:', 'https:'],
    default: 'https://api.clickup.com/api/v2',
  })
  readonly tasktrackerApiUrl!: string;

  @EnvText('FEEDBACK_TASKTRACKER_TOKEN', {
    description: 'Personal or OAuth token of ClickUp. If absent, no tasks are created.',
    optional: true,
    secret: true,
  })
  readonly tasktrackerToken?: string;

  @EnvText('FEEDBACK_TASKTRACKER_LIST_ID', {
    description:
      'Id of the list in the task tracker in which a task is created for each feedback. Requires ' +
      'FEEDBACK_TASKTRACKER_TOKEN.',
    optional: true,
    pattern: /^[\w-]{1,100}$/,
  })
  readonly tasktrackerListId?: string;

  @EnvInt('FEEDBACK_TRACKER_TIMEOUT_MS', {
    description:
      'Milliseconds after which a call to a tracker that is not answered is aborted. The call is repeated later.',
    default: 10_000,
    min: 50,
  })
  readonly trackerTimeoutMs!: number;

  get configuredTrackers(): { codehost: boolean; tasktracker: boolean } {
    return {
      codehost: Boolean(this.codehostToken && this.codehostRepository),
      tasktracker: Boolean(this.tasktrackerToken && this.tasktrackerListId),
    };
  }

  findFaults(): string[] {
    const pairs = [
      ['FEEDBACK_CODEHOST_TOKEN', this.codehostToken, 'FEEDBACK_CODEHOST_REPOSITORY', this.codehostRepository],
      ['FEEDBACK_TASKTRACKER_TOKEN', this.tasktrackerToken, 'FEEDBACK_TASKTRACKER_LIST_ID', this.tasktrackerListId],
    ];
    return pairs.flatMap(([one, its, other, others]) =>
      Boolean(its) === Boolean(others) ? [] : [`${one} and ${other} belong together; set both or neither`],
    );
  }
}
