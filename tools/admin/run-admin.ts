import { parseArgs } from 'node:util';
import type { Environment } from '@muster/platform';
import { AdminError, UsageError } from './admin-error';
import type { Call } from './command';
import { commands } from './commands';
import { createProgress } from './progress';

export interface Streams {
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

interface Parsed {
  values: Record<string, unknown>;
  positionals: string[];
}

/** Runs one command and returns its exit code. An error is printed as one sentence. */
export async function runAdmin(args: string[], environment: Environment, { stdout, stderr }: Streams): Promise<number> {
  const [name, ...rest] = args;
  const command = commands[name ?? ''];
  if (!command) {
    (name && name !== '--help' ? stderr : stdout).write(formatUsage());
    return name && name !== '--help' ? 2 : 0;
  }
  const progress = createProgress(stderr);
  try {
    const { values, positionals }: Parsed = parseArgs({
      args: rest,
      options: { ...command.options, help: { type: 'boolean', short: 'h' } },
      strict: true,
    });
    if (values['help'] || positionals.length > 0) {
      stdout.write(`muster-admin ${name} ${command.usage}\n\n${command.about}\n`);
      return positionals.length > 0 ? 2 : 0;
    }
    const call: Call = {
      text: (option) => values[option] as string | undefined,
      list: (option) => (values[option] as string[] | undefined) ?? [],
      flag: (option) => values[option] === true,
      environment,
      write: (line) => {
        progress.end();
        stdout.write(`${line}\n`);
      },
      onProgress: progress.show,
    };
    return (await command.run(call)) ?? 0;
  } catch (error) {
    progress.end();
    const { code, message } = error as NodeJS.ErrnoException;
    const isParsing = code?.startsWith('ERR_PARSE_ARGS');
    const isUsage = isParsing || error instanceof UsageError;
    const isKnown = error instanceof AdminError || ['DevStackError', 'ConfigError'].includes((error as Error).name);
    const sentence = isParsing
      ? `${message.split('. ')[0]}; muster-admin ${name} --help shows the options.`
      : message || code;
    stderr.write(`muster-admin: ${sentence}\n`);
    if (!isUsage && !isKnown && environment['LOG_LEVEL'] === 'debug') stderr.write(`${(error as Error).stack}\n`);
    return isUsage ? 2 : 1;
  } finally {
    progress.end();
  }
}

function formatUsage(): string {
  const lines = Object.entries(commands).map(
    ([name, { usage: syntax, summary }]) => `  ${name} ${syntax}\n      ${summary}`,
  );
  return `muster-admin backs up, restores and checks a Muster installation.\n\n${lines.join('\n')}\n`;
}
