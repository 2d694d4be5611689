import { BaseConfig, EnvText } from '@muster/platform';

/** Secrets that verify the signatures of tracker webhooks. */
export class WebhookSecretsConfig extends BaseConfig {
  @EnvText('FEEDBACK_CODEHOST_WEBHOOK_SECRET', {
    description:
      'Secret with which GitHub signs its webhooks. To rotate the secret, set the old and the new one, separated by ' +
      'a comma. If absent, all GitHub webhooks are rejected.',
    optional: true,
    secret: true,
  })
  readonly codehostWebhookSecret?: string;

  @EnvText('FEEDBACK_TASKTRACKER_WEBHOOK_SECRET', {
    description:
      'Secret with which ClickUp signs its webhooks. To rotate the secret, set the old and the new one, separated ' +
      'by a comma. If absent, all ClickUp webhooks are rejected.',
    optional: true,
    secret: true,
  })
  readonly tasktrackerWebhookSecret?: string;
}
