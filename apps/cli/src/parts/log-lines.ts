import type { LogLine } from '@muster/sdk';
import { toSafeBlock } from '../output/plain';
import type { Terminal } from '../output/terminal';

const colors = { debug: 'dim', info: undefined, warn: 'yellow', error: 'red' } as const;

/** Prints one line of a log, with --json as JSON. With `aside`, --json prints it as text to stderr instead. */
export function printLogLine(terminal: Terminal, line: LogLine, { aside = false } = {}): void {
  if (terminal.json && !aside) return terminal.printLine(JSON.stringify(line));
  const stream = terminal.json ? process.stderr : process.stdout;
  const time = terminal.colorText('dim', line.timestamp.slice(11, 19), stream);
  const color = colors[line.level];
  const message = toSafeBlock(line.message);
  const text = `${time} ${color ? terminal.colorText(color, message, stream) : message}`;
  if (terminal.json) terminal.printMessage(text);
  else terminal.printLine(text);
}
