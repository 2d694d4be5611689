import { AgentsConfig } from '@muster/agents';
import { WebhookSecretsConfig } from '@muster/feedback';
import type { BaseConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';

/** The configurations that the app reads from its environment variables. */
export const ingestConfigs: [new () => BaseConfig, ...(new () => BaseConfig)[]] = [
  StorageConfig,
  AgentsConfig,
  WebhookSecretsConfig,
];
