import { BaseConfig, type ChecksItself, EnvText, EnvUrl } from '@muster/platform';

/** Configuration of the mail relay for notifications, forgotten passwords and invitations. */
export class SmtpConfig extends BaseConfig implements ChecksItself {
  @EnvUrl('SMTP_URL', {
    description:
      'URL of the mail relay: smtp://user:password@host:587 or smtps://…. It sends notifications, links to set a ' +
      'forgotten password, and invitations. If absent, no e-mail is sent.',
    protocols: ['smtp:', 'smtps:'],
    optional: true,
    secret: true,
  })
  readonly smtpUrl?: string;

  @EnvText('SMTP_FROM', {
    description: 'Sender of e-mail, such as Muster <muster@practice.example>. Required if SMTP_URL is set.',
    optional: true,
  })
  readonly smtpFrom?: string;

  findFaults(): string[] {
    return this.smtpUrl && !this.smtpFrom ? ['SMTP_FROM must be set if SMTP_URL is set'] : [];
  }
}
