import type { ParseArgsConfig } from 'node:util';
import type { Environment } from '@muster/platform';

/** What a command was called with. */
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
  /** What its help says. */
  about: string;
  options: NonNullable<ParseArgsConfig['options']>;
  /** Answers the exit code, unless it is 0. */
  run(call: Call): Promise<number | void>;
}
