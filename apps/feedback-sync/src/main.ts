import { BaseConfig, runApp } from '@muster/platform';
import { FeedbackSyncModule } from './feedback-sync.module';

void runApp({ name: 'feedback-sync', configs: [BaseConfig], modules: [FeedbackSyncModule] });
