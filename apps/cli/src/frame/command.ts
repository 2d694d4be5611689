import type { Muster } from '@muster/sdk';
import type { Terminal } from '../output/terminal';
import type { Environment } from './environment';
import type { Login, Logins } from './logins';

export interface Option {
  type: 'string' | 'boolean';
  short?: string;
  /** May be given several times. */
  multiple?: boolean;
  /** What stands for its value in the help. */
  value?: string;
  about: string;
}

/** What a command was called with, and what it works with. */
export interface Call {
  args: string[];
  /** The value of an option that takes one. */
  text(name: string): string | undefined;
  list(name: string): string[];
  flag(name: string): boolean;
  terminal: Terminal;
  environment: Environment;
  logins: Logins;
  /** Who is signed in, or a failure that says how to. */
  login(): Login;
  muster(): Muster;
}

export interface Command {
  /** As they are typed: `agents list`. */
  words: string;
  /** `<needed>`, `[optional]`, `[more…]`. */
  args?: string;
  summary: string;
  /** Said below the options. */
  more?: string;
  options?: Record<string, Option>;
  /** Answers the exit code, unless it is 0. */
  run(call: Call): Promise<number | void>;
}
