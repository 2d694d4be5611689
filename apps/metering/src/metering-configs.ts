import type { BaseConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';

/** All that this process reads of its environment. */
export const meteringConfigs: [new () => BaseConfig, ...(new () => BaseConfig)[]] = [StorageConfig];
