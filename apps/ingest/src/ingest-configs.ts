import { CommandsConfig } from '@muster/commands';
import { MachinesConfig } from '@muster/machines';
import { WebhookSecretsConfig } from '@muster/feedback';
import type { BaseConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';

/** The configurations that the app reads from its environment variables. */
export const ingestConfigs: [new () => BaseConfig, ...(new () => BaseConfig)[]] = [
  StorageConfig,
  MachinesConfig,
  CommandsConfig,
  WebhookSecretsConfig,
];
