import { Inject } from '@nestjs/common';
import type { EndpointPayload, LinkPayload, OrganizationPayload, ProbePayload } from '@muster/contracts';
import { answerQueueProbe, Database } from '@muster/database';
import { HandlesJob, ProcessesQueue, QueueProcessor } from '@muster/platform';
import { AccountMails } from './account-mails';
import { WebhookWork } from './webhook-work';

@ProcessesQueue('webhooks')
export class WebhooksProcessor extends QueueProcessor {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(WebhookWork) private readonly work: WebhookWork,
    @Inject(AccountMails) private readonly mails: AccountMails,
  ) {
    super();
  }

  @HandlesJob('webhooks', 'probe')
  async answerProbe({ probeId }: ProbePayload): Promise<void> {
    await answerQueueProbe(this.database, probeId, 'feedback-sync');
  }

  @HandlesJob('webhooks', 'fan-out')
  async fanOut({ organizationId }: OrganizationPayload): Promise<void> {
    await this.work.createDeliveries(organizationId);
  }

  @HandlesJob('webhooks', 'send-due')
  async sendDue({ endpointId }: EndpointPayload): Promise<void> {
    this.work.sendDue(endpointId);
    return Promise.resolve();
  }

  @HandlesJob('webhooks', 'send-account-mail')
  async sendAccountMail({ linkId }: LinkPayload): Promise<void> {
    await this.mails.sendMail(linkId);
  }
}
