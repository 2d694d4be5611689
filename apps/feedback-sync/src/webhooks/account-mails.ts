import { Inject, Injectable, Logger } from '@nestjs/common';
import { writeAccountMail } from '@muster/access';
import { Database } from '@muster/database';
import { BaseConfig, getOwnAddress } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { sendMail, SmtpConfig } from '@muster/webhooks';

/** Sends the mails with links to set a password. */
@Injectable()
export class AccountMails {
  private readonly logger = new Logger('account mails');

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(BaseConfig) private readonly config: BaseConfig,
    @Inject(SmtpConfig) private readonly smtp: SmtpConfig,
  ) {}

  /** Sends the mail of a link. Throws if that failed and another attempt may succeed. */
  async sendMail(linkId: string): Promise<void> {
    const { smtpUrl, smtpFrom } = this.smtp;
    if (!smtpUrl) return this.logger.warn('no mail was sent, because no mail relay is configured (SMTP_URL)');
    // The sender of a request chooses its Host header, so that header never becomes the address of a link.
    const address = getOwnAddress(this.config);
    const mail = await writeAccountMail({ database: this.database, keyRing: this.keyRing, address }, linkId);
    if (!mail) return;
    const { outcome, error } = await sendMail({ url: smtpUrl, from: smtpFrom! }, mail);
    if (outcome === 'failed') throw new Error(error!);
    if (outcome !== 'delivered') this.logger.warn(`the mail of link ${linkId} was not delivered: ${error}`);
  }
}
