import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { Trackers } from '@muster/trackers';
import { FeedbackProcessor } from './feedback.processor';
import { FeedbackSyncLoops } from './feedback-sync-loops';
import { FeedbackWork } from './feedback-work';

@Module({
  imports: [DatabaseModule, AccessModule],
  providers: [Trackers, FeedbackWork, FeedbackProcessor, FeedbackSyncLoops],
})
export class FeedbackSyncModule {}
