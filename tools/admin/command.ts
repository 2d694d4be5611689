import type { ParseArgsConfig } from 'node:util';
import type { Environment } from '@muster/platform';

/** The arguments and the output of one call of a command. */
export interface Call {
  text(option: string): string | undefined;
  list(option: string): string[];
  flag(option: string): boolean;
  environment: Environment;
  write(line: string): void;
  onProgress(line: string): void;
}

export interface Command {
  usage: string;
  summary: string;
  /** Description that `--help` prints. */
  about: string;
  options: NonNullable<ParseArgsConfig['options']>;
  /** Runs the command. Returns its exit code; undefined stands for 0. */
  run(call: Call): Promise<number | void>;
}
