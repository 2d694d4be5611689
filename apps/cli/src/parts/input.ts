import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createUsageError } from '../frame/failure';
import type { Terminal } from '../output/terminal';

/** Reads all of stdin. */
export async function readStdin(): Promise<Buffer> {
  return buffer(process.stdin);
}

/** Reads a secret from stdin, or from a prompt without echo. Removes one newline at its end. */
export async function readSecret(terminal: Terminal, question: string): Promise<string> {
  const text = terminal.canAsk ? await promptUser(question, { hidden: true }) : (await readStdin()).toString('utf8');
  const secret = text.replace(/\r?\n$/, '');
  if (!secret) throw createUsageError('The value is empty.', 'Pipe it to stdin, or type it in a terminal.');
  return secret;
}

interface AskOptions {
  hidden?: boolean;
  /** Signal that ends the prompt when it aborts. The promise of the answer then stays pending. */
  signal?: AbortSignal;
}

export function promptUser(question: string, { hidden = false, signal }: AskOptions = {}): Promise<string> {
  // readline writes every typed character to its output, so the output is replaced with one that discards them.
  const echo = new Writable({
    write: (chunk: Buffer, _encoding, done) => (hidden ? done() : void process.stderr.write(chunk, () => done())),
  });
  // Creating the interface turns off the terminal's echo. The prompt is printed afterwards, so that no early key press
  // is displayed.
  const lines = createInterface({ input: process.stdin, output: echo, terminal: true, historySize: 0 });
  process.stderr.write(question);
  return new Promise((resolve, reject) => {
    lines.once('SIGINT', () => lines.close());
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    signal?.addEventListener('abort', () => lines.close(), { once: true });
    lines.once('close', () => {
      if (hidden) process.stderr.write('\n');
      if (!signal?.aborted) reject(createUsageError('Nothing was entered. Run the command again and enter a value.'));
    });
  });
}
