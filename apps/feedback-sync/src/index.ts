export { FeedbackSyncModule } from './feedback-sync.module';
