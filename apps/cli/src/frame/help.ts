import { alignColumns } from '../output/table';
import type { Command, Option } from './command';
import { globalOptions } from './parse-arguments';

export function formatOverview(commands: readonly Command[]): string {
  const rows = commands.map(({ words, args = '', summary }) => [`  muster ${words} ${args}`.trimEnd(), summary]);
  return [
    'Start worker machines, run workflows on them and follow the runs.',
    '',
    ...alignColumns(rows),
    '',
    'Every command accepts --json, --context NAME and --help.',
    'Agents, workflows, schedules and packs are specified by name or id.',
    'In a pipeline, set MUSTER_URL and MUSTER_API_KEY instead of signing in. Set NO_COLOR to disable colours.',
    'Exit codes: 0 success, 1 the run failed, 2 incorrect usage, 3 the service is unreachable or refuses the request.',
  ].join('\n');
}

export function formatCommandHelp({ words, args = '', summary, more, options = {} }: Command): string {
  const rows = Object.entries({ ...options, ...globalOptions }).map(([name, option]) => [
    `  ${formatOption(name, option)}`,
    option.about + (option.multiple ? ' (repeatable)' : ''),
  ]);
  return [
    `muster ${words} ${args}`.trimEnd(),
    '',
    `${summary}.`,
    ...(more ? ['', more] : []),
    '',
    ...alignColumns(rows),
  ].join('\n');
}

function formatOption(name: string, { short, type, value = 'VALUE' }: Option): string {
  return `${short ? `-${short}, ` : ''}--${name}${type === 'string' ? ` ${value}` : ''}`;
}
