import { ModelsConfig } from '@muster/models';
import type { BaseConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';
import { SmtpConfig } from '@muster/webhooks';
import { FeedbackSyncConfig } from './feedback-sync.config';

/** All environment variables that this process reads. */
export const feedbackSyncConfigs: [new () => BaseConfig, ...(new () => BaseConfig)[]] = [
  FeedbackSyncConfig,
  ModelsConfig,
  StorageConfig,
  SmtpConfig,
];
