import { AgentsConfig } from '@muster/agents';
import { WebhookSecretsConfig } from '@muster/feedback';
import type { BaseConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';

/** The configuration that this process reads from its environment. */
export const ingestConfigs: [new () => BaseConfig, ...(new () => BaseConfig)[]] = [
  StorageConfig,
  AgentsConfig,
  WebhookSecretsConfig,
];
