import { BaseConfig, type ChecksItself, EnvText, EnvUrl } from '@muster/platform';

/** The operator's mail relay. */
export class SmtpConfig extends BaseConfig implements ChecksItself {
  @EnvUrl('SMTP_URL', {
    description: 'The mail relay, as smtp://user:password@host:587 or smtps://…; absent means that no e-mail is sent.',
    protocols: ['smtp:', 'smtps:'],
    optional: true,
    secret: true,
  })
  readonly smtpUrl?: string;

  @EnvText('SMTP_FROM', {
    description: 'Who e-mail is from, such as Muster <muster@practice.example>; needed with SMTP_URL.',
    optional: true,
  })
  readonly smtpFrom?: string;

  faults(): string[] {
    return this.smtpUrl && !this.smtpFrom ? ['SMTP_FROM must be set where SMTP_URL is'] : [];
  }
}
