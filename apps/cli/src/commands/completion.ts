import type { Command } from '../frame/command';
import { createUsageError } from '../frame/failure';
import { globalOptions } from '../frame/parse-arguments';

/** The command that prints completion scripts for shells, which are generated from the table of commands. */
export function createCompletionCommand(all: () => readonly Command[]): Command {
  return {
    words: 'completion',
    args: '<shell>',
    summary: 'Print the completion script for bash, zsh or fish',
    more:
      'bash: source <(muster completion bash)   zsh: source <(muster completion zsh)   fish: muster completion fish ' +
      '| source',
    async runCommand({ args, terminal }) {
      const write = writers[args[0]!];
      if (!write) throw createUsageError('The argument must be the name of your shell: bash, zsh or fish.');
      terminal.printLine(write(all()));
    },
  };
}

const writers: Record<string, (commands: readonly Command[]) => string> = {
  bash: (commands) =>
    [
      '# muster completion for bash',
      '_muster() {',
      '  local typed="${COMP_WORDS[*]:1:COMP_CWORD-1}" now="${COMP_WORDS[COMP_CWORD]}" next=""',
      '  case "$typed" in',
      ...listWordsAfterPrefixes(commands).map(([words, next]) => `    "${words}") next="${next.join(' ')}" ;;`),
      ...commands.map(
        ({ words }) =>
          `    ${formatShellCasePattern(words)}) [[ "$now" == -* ]] && next="${listOptions(commands, words)}" ;;`,
      ),
      '  esac',
      '  if [[ -n "$next" ]]; then COMPREPLY=($(compgen -W "$next" -- "$now")); else COMPREPLY=($(compgen -f -- ' +
        '"$now")); fi',
      '}',
      'complete -o filenames -F _muster muster',
    ].join('\n'),
  zsh: (commands) =>
    [
      '#compdef muster',
      '_muster() {',
      '  local typed="${(j: :)words[2,CURRENT-1]}"',
      '  case "$typed" in',
      ...listWordsAfterPrefixes(commands).map(([words, next]) => `    "${words}") compadd -- ${next.join(' ')} ;;`),
      ...commands.map(
        ({ words }) =>
          `    ${formatShellCasePattern(words)}) if [[ "$PREFIX" == -* ]]; then compadd -- ${listOptions(commands, words)}; else _files; fi ;;`,
      ),
      '  esac',
      '}',
      'compdef _muster muster',
    ].join('\n'),
  fish: (commands) =>
    [
      '# muster completion for fish',
      'function __muster_is',
      '  set -l typed (commandline -opc)',
      '  test (string join \' \' -- $typed[2..] | string collect --allow-empty) = "$argv"',
      'end',
      'function __muster_in',
      '  set -l typed (commandline -opc)',
      "  string match -q -- \"$argv *\" (string join ' ' -- $typed[2..])' '",
      'end',
      ...listWordsAfterPrefixes(commands).map(
        ([words, next]) => `complete -c muster -f -n "__muster_is ${words}" -a "${next.join(' ')}"`,
      ),
      ...commands.flatMap(({ words, options }) =>
        Object.entries({ ...options, ...globalOptions }).map(
          ([name, { about }]) =>
            `complete -c muster -n "__muster_in ${words}" -l ${name} -d '${about.replaceAll("'", '’')}'`,
        ),
      ),
    ].join('\n'),
};

/**
 * Returns each incomplete command name (the empty one, and first words such as `agents`) with the words that can follow
 * it.
 */
function listWordsAfterPrefixes(commands: readonly Command[]): [words: string, next: string[]][] {
  const first = [...new Set(commands.map(({ words }) => words.split(' ')[0]!))];
  const below = first.flatMap((word): [string, string[]][] => {
    const next = commands.filter(({ words }) => words.startsWith(`${word} `)).map(({ words }) => words.split(' ')[1]!);
    return next.length ? [[word, next]] : [];
  });
  return [['', first], ...below];
}

function listOptions(commands: readonly Command[], words: string): string {
  const { options } = commands.find((each) => each.words === words)!;
  return Object.keys({ ...options, ...globalOptions })
    .map((name) => `--${name}`)
    .join(' ');
}

function formatShellCasePattern(words: string): string {
  return `"${words}"|"${words} "*`;
}
