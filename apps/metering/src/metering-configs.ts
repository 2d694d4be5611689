import type { BaseConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';

/** Configuration classes that this process reads from its environment. */
export const meteringConfigs: [new () => BaseConfig, ...(new () => BaseConfig)[]] = [StorageConfig];
