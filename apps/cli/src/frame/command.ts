import type { Muster } from '@muster/sdk';
import type { Terminal } from '../output/terminal';
import type { Environment } from './environment';
import type { Login, Logins } from './logins';

export interface Option {
  type: 'string' | 'boolean';
  short?: string;
  /** Whether the option can be repeated. */
  multiple?: boolean;
  /** Placeholder of the value in the help. */
  value?: string;
  about: string;
}

/** Arguments of one command invocation, and the services that the command uses. */
export interface Call {
  args: string[];
  /** Returns the value of a string option. */
  text(name: string): string | undefined;
  list(name: string): string[];
  flag(name: string): boolean;
  terminal: Terminal;
  environment: Environment;
  logins: Logins;
  /** Returns the login to use. Throws a failure that explains how to sign in if there is none. */
  login(): Login;
  muster(): Muster;
}

export interface Command {
  /** Name of the command as it is typed, such as `agents list`. */
  words: string;
  /** Positional arguments: `<required>`, `[optional]`, `[repeated…]`. */
  args?: string;
  summary: string;
  /** Details, printed between the summary and the options. */
  more?: string;
  options?: Record<string, Option>;
  /** Returns the exit code; nothing means 0. */
  runCommand(call: Call): Promise<number | void>;
}
