import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { FeedbackProcessor } from './feedback.processor';

@Module({ imports: [DatabaseModule, AccessModule], providers: [FeedbackProcessor] })
export class FeedbackSyncModule {}
