import { AgentsConfig, ReaperConfig } from '@muster/agents';
import { DispatchConfig } from '@muster/jobs';
import { ModelsConfig } from '@muster/models';
import type { BaseConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';
import { VmConfig } from '@muster/vm';

export const dispatcherConfigs: [new () => BaseConfig, ...(new () => BaseConfig)[]] = [
  DispatchConfig,
  AgentsConfig,
  ReaperConfig,
  VmConfig,
  StorageConfig,
  ModelsConfig,
];
