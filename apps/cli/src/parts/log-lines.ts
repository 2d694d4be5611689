import type { LogLine } from '@muster/sdk';
import { toSafeBlock } from '../output/plain';
import type { Terminal } from '../output/terminal';

const colors = { debug: 'dim', info: undefined, warn: 'yellow', error: 'red' } as const;

/** Prints one line of a log, with --json as JSON. With `aside`, --json prints it as text to stderr instead. */
export function printLine(terminal: Terminal, line: LogLine, { aside = false } = {}): void {
  if (terminal.json && !aside) return terminal.print(JSON.stringify(line));
  const stream = terminal.json ? process.stderr : process.stdout;
  const time = terminal.paint('dim', line.timestamp.slice(11, 19), stream);
  const color = colors[line.level];
  const message = toSafeBlock(line.message);
  const text = `${time} ${color ? terminal.paint(color, message, stream) : message}`;
  if (terminal.json) terminal.say(text);
  else terminal.print(text);
}
