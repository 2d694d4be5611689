import type { BaseConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';
import { SchedulerConfig } from './scheduler.config';

/** The configuration that this app reads from its environment. */
export const schedulerConfigs: [new () => BaseConfig, ...(new () => BaseConfig)[]] = [SchedulerConfig, StorageConfig];
