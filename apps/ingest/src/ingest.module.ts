import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { CommandPolls } from '@muster/commands';
import { DatabaseModule } from '@muster/database';
import { StorageModule } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { CommandsController } from './agents/commands.controller';
import { MachinesController } from './agents/machines.controller';
import { DownloadsController } from './agents/downloads.controller';
import { ImagingCommandsController } from './agents/imaging-commands.controller';
import { UploadsController } from './agents/uploads.controller';
import { FeedbackWebhooksController } from './feedback/feedback-webhooks.controller';
import { InboundController } from './jobs/inbound.controller';
import { JobCallbacksController } from './jobs/job-callbacks.controller';
import { RunQuestionsController } from './jobs/run-questions.controller';
import { RunScreensController } from './jobs/run-screens.controller';
import { RunSummaryController } from './pilot/run-summary.controller';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule, StorageModule],
  controllers: [
    MachinesController,
    CommandsController,
    DownloadsController,
    UploadsController,
    ImagingCommandsController,
    JobCallbacksController,
    RunQuestionsController,
    RunScreensController,
    InboundController,
    RunSummaryController,
    FeedbackWebhooksController,
  ],
  providers: [CommandPolls],
})
export class IngestModule {}
