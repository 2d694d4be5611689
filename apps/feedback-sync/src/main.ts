import { runApp } from '@muster/platform';
import { feedbackSyncConfigs } from './feedback-sync-configs';
import { FeedbackSyncModule } from './feedback-sync.module';

void runApp({ name: 'feedback-sync', configs: feedbackSyncConfigs, modules: [FeedbackSyncModule] });
