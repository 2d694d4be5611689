import { backupCommands } from './backup/commands';
import type { Command } from './command';
import { doctorCommands } from './doctor/commands';
import { releaseCommands } from './restore/commands';
import { sizeCommands } from './size/commands';
import { supportCommands } from './support/commands';

export const commands: Record<string, Command> = {
  ...backupCommands,
  ...doctorCommands,
  ...releaseCommands,
  ...sizeCommands,
  ...supportCommands,
};
