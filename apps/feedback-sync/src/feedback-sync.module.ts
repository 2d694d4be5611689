import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { ModelsModule } from '@muster/models';
import { StorageModule } from '@muster/storage';
import { Trackers } from '@muster/trackers';
import { VaultModule } from '@muster/vault';
import { FeedbackProcessor } from './feedback.processor';
import { FeedbackSyncLoops } from './feedback-sync-loops';
import { FeedbackWork } from './feedback-work';
import { AccountMails } from './webhooks/account-mails';
import { WebhookWork } from './webhooks/webhook-work';
import { WebhooksProcessor } from './webhooks/webhooks.processor';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule, ModelsModule, StorageModule],
  providers: [
    Trackers,
    FeedbackWork,
    FeedbackProcessor,
    AccountMails,
    WebhookWork,
    WebhooksProcessor,
    FeedbackSyncLoops,
  ],
})
export class FeedbackSyncModule {}
