import { parseArgs } from 'node:util';
import type { Command, Option } from './command';
import { createUsageError } from './failure';

export const globalOptions: Record<string, Option> = {
  json: { type: 'boolean', about: 'Print JSON' },
  context: { type: 'string', value: 'NAME', about: 'Name of the login to use, or to save with muster login' },
  help: { type: 'boolean', short: 'h', about: 'Print this help' },
};

export interface Parsed {
  args: string[];
  values: Record<string, string | boolean | (string | boolean)[] | undefined>;
}

/** Parses the arguments after the command name. Throws a usage error if the command does not accept them. */
export function parseArguments(command: Command, rest: string[]): Parsed {
  const options = { ...globalOptions, ...command.options };
  try {
    const config = Object.fromEntries(
      Object.entries(options).map(([name, { type, short, multiple }]) => [
        name,
        { type, ...(short ? { short } : {}), ...(multiple ? { multiple } : {}) },
      ]),
    );
    const { values, positionals } = parseArgs({ args: rest, options: config, allowPositionals: true, strict: true });
    if (!values['help']) requireArgumentCount(command, positionals.length);
    return { args: positionals, values };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')) {
      throw createUsageError((error as Error).message.split('. ')[0]!, `For help, run muster ${command.words} --help.`);
    }
    throw error;
  }
}

function requireArgumentCount({ words, args = '' }: Command, count: number): void {
  const names = args.split(' ').filter(Boolean);
  const needed = names.filter((name) => name.startsWith('<'));
  const most = args.includes('…') ? Infinity : names.length;
  if (count >= needed.length && count <= most) return;
  const missing = needed[count];
  throw createUsageError(
    missing ? `${missing} is missing.` : 'There are too many arguments.',
    `Usage: muster ${words} ${args}`.trim(),
  );
}
