import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { usageFault } from '../frame/failure';
import type { Terminal } from '../output/terminal';

/** What comes through the pipe, whole. */
export async function stdinBytes(): Promise<Buffer> {
  return buffer(process.stdin);
}

/** A secret that comes through the pipe, or is typed unseen. One newline at its end is the pipe's. */
export async function readSecret(terminal: Terminal, question: string): Promise<string> {
  const text = terminal.canAsk ? await ask(question, { hidden: true }) : (await stdinBytes()).toString('utf8');
  const secret = text.replace(/\r?\n$/, '');
  if (!secret) throw usageFault('Nothing came.', 'Pipe it in, or type it.');
  return secret;
}

interface AskOptions {
  hidden?: boolean;
  /** Nothing is asked for any more; the promise stays open. */
  signal?: AbortSignal;
}

export function ask(question: string, { hidden = false, signal }: AskOptions = {}): Promise<string> {
  // readline echoes what is typed through its output.
  const echo = new Writable({
    write: (chunk: Buffer, _encoding, done) => (hidden ? done() : void process.stderr.write(chunk, () => done())),
  });
  // The terminal's own echo is off before anybody is asked: who types at once is not seen either.
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
      if (!signal?.aborted) reject(usageFault('Nothing was typed.'));
    });
  });
}
