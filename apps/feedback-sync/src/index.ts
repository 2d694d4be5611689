export { feedbackSyncConfigs } from './feedback-sync-configs';
export { FeedbackSyncModule } from './feedback-sync.module';
