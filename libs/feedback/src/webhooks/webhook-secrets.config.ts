import { BaseConfig, EnvText } from '@muster/platform';

/** What the trackers' deliveries are signed with. */
export class WebhookSecretsConfig extends BaseConfig {
  @EnvText('FEEDBACK_CODEHOST_WEBHOOK_SECRET', {
    description:
      'Signs GitHub’s deliveries; two with a comma between them while they rotate. Without it none is taken.',
    optional: true,
    secret: true,
  })
  readonly codehostWebhookSecret?: string;

  @EnvText('FEEDBACK_TASKTRACKER_WEBHOOK_SECRET', {
    description: 'Signs ClickUp’s deliveries, likewise.',
    optional: true,
    secret: true,
  })
  readonly tasktrackerWebhookSecret?: string;
}
