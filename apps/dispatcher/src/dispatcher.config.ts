import { CommandsConfig } from '@muster/commands';
import { MachinesConfig, ReaperConfig } from '@muster/machines';
import { DispatchConfig } from '@muster/jobs';
import { ModelsConfig } from '@muster/models';
import type { BaseConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';
import { VmConfig } from '@muster/vm';

export const dispatcherConfigs: [new () => BaseConfig, ...(new () => BaseConfig)[]] = [
  DispatchConfig,
  MachinesConfig,
  CommandsConfig,
  ReaperConfig,
  VmConfig,
  StorageConfig,
  ModelsConfig,
];
