import { commands } from '../commands';
import { Terminal } from '../output/terminal';
import type { Call, Command } from './command';
import type { Environment } from './environment';
import { exitCodes, explainError, createUsageError } from './failure';
import { formatCommandHelp, formatOverview } from './help';
import { type Login, Logins } from './logins';
import { parseArguments } from './parse-arguments';
import { version } from './version';
import { createClient } from './client';

const allCommandsHint = 'To list all commands, run muster --help.';

/** Runs one command line and returns its exit code. Never throws. */
export async function runCli(typed: string[], environment: Environment): Promise<number> {
  const argv = moveGlobalOptionsToEnd(typed);
  const terminal = new Terminal({ json: argv.includes('--json'), noColor: environment.noColor });
  let known: Login | undefined;
  try {
    if (argv.length === 0 || ['--help', '-h', 'help'].includes(argv[0]!)) return printHelp(terminal, argv.slice(1));
    if (argv[0] === '--version' || argv[0] === 'version') {
      terminal.printLine(version);
      return exitCodes.ok;
    }
    const { command, rest } = findCommand(argv);
    if (!command) return printGroup(terminal, argv);
    const { args, values } = parseArguments(command, rest);
    if (values['help']) return printHelp(terminal, command.words.split(' '));
    const logins = new Logins(environment);
    const getLogin = () => (known ??= logins.findLogin(values['context'] as string | undefined));
    const call: Call = {
      args,
      text: (name) => values[name] as string | undefined,
      list: (name) => (values[name] ?? []) as string[],
      flag: (name) => values[name] === true,
      terminal,
      environment,
      logins,
      login: getLogin,
      muster: () => createClient(getLogin()),
    };
    return (await command.runCommand(call)) ?? exitCodes.ok;
  } catch (error) {
    const explained = explainError(error, known);
    terminal.printFailure(explained);
    return explained.exitCode;
  } finally {
    terminal.clearProgress();
  }
}

/** Moves global options before the command name to the end, so that `--json jobs list` becomes `jobs list --json`. */
function moveGlobalOptionsToEnd(typed: string[]): string[] {
  const before: string[] = [];
  const rest = [...typed];
  while (rest.length > 0) {
    const count = rest[0] === '--json' || rest[0]!.startsWith('--context=') ? 1 : rest[0] === '--context' ? 2 : 0;
    if (count === 0 || count >= rest.length) break;
    before.push(...rest.splice(0, count));
  }
  return [...rest, ...before];
}

/** Returns the command whose name starts the command line. Names of two words take precedence. */
function findCommand(argv: string[]): { command?: Command; rest: string[] } {
  for (const length of [2, 1]) {
    const words = argv.slice(0, length).join(' ');
    const command = commands.find((each) => each.words === words);
    if (command) return { command, rest: argv.slice(length) };
  }
  return { rest: [] };
}

/** Prints the commands of a group, such as `muster agents`. Throws a usage error if the group does not exist. */
function printGroup(terminal: Terminal, argv: string[]): number {
  const words = argv.filter((each) => !each.startsWith('-'));
  const below = commands.filter((each) => each.words.startsWith(`${words[0]} `));
  if (below.length && (words.length === 1 || argv.some((each) => each === '--help' || each === '-h'))) {
    return printHelp(terminal, words.slice(0, 1));
  }
  throw createUsageError(
    `There is no command ${words.slice(0, 2).join(' ') || argv[0]}.`,
    suggestCommand(words) ?? allCommandsHint,
  );
}

function printHelp(terminal: Terminal, words: string[]): number {
  const typed = words.filter((each) => !each.startsWith('-')).join(' ');
  const command = commands.find((each) => each.words === typed);
  const below = typed ? commands.filter((each) => each.words.startsWith(`${typed} `)) : commands;
  if (!command && !below.length) throw createUsageError(`There is no command ${typed}.`, allCommandsHint);
  terminal.printLine(command ? formatCommandHelp(command) : formatOverview(below));
  return exitCodes.ok;
}

function suggestCommand(words: string[]): string | undefined {
  const [first = ''] = words;
  const guess = commands.find(({ words: each }) => each.split(' ').some((word) => word.startsWith(first.slice(0, 3))));
  return guess && first.length >= 3 ? `Did you mean muster ${guess.words}? ${allCommandsHint}` : undefined;
}
