import { columns } from '../output/table';
import type { Command, Option } from './command';
import { globalOptions } from './parse';

export function overview(commands: readonly Command[]): string {
  const rows = commands.map(({ words, args = '', summary }) => [`  muster ${words} ${args}`.trimEnd(), summary]);
  return [
    'Wakes worker machines, runs workflows on them, and follows what happens.',
    '',
    ...columns(rows),
    '',
    'Every command takes --json, --context NAME and --help. Agents, workflows, schedules and packs go by name or id.',
    'In a pipeline: MUSTER_URL and MUSTER_API_KEY instead of a login. NO_COLOR is heard.',
    'Exit codes: 0, 1 the run failed, 2 used wrongly, 3 not reached or not allowed.',
  ].join('\n');
}

export function helpOf({ words, args = '', summary, more, options = {} }: Command): string {
  const rows = Object.entries({ ...options, ...globalOptions }).map(([name, option]) => [
    `  ${written(name, option)}`,
    option.about + (option.multiple ? ' (several)' : ''),
  ]);
  return [
    `muster ${words} ${args}`.trimEnd(),
    '',
    `${summary}.`,
    ...(more ? ['', more] : []),
    '',
    ...columns(rows),
  ].join('\n');
}

function written(name: string, { short, type, value = 'VALUE' }: Option): string {
  return `${short ? `-${short}, ` : ''}--${name}${type === 'string' ? ` ${value}` : ''}`;
}
