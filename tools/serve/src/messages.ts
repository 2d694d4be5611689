import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Served } from './ports';

/** What a serve says when it joins. Its connection is its membership: the stack ends when the last one is gone. */
export interface Hello {
  app: Served;
  /** The clone that it serves. */
  root: string;
}

/** What the stack says to those that joined. No secret goes this way: those are in a file that others cannot read. */
export type StackMessage =
  | { kind: 'welcome'; root: string; startedBy: string }
  | { kind: 'progress'; line: string }
  | { kind: 'ready'; firstStart: boolean }
  | { kind: 'changed'; files: string[] }
  | { kind: 'broken'; files: string[]; error: string }
  /** To standalone: whether it may run, because none of the six does. */
  | { kind: 'alone'; alone: boolean }
  | { kind: 'failed'; error: string };

export function send(socket: Socket, message: Hello | StackMessage): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}

export function receive<T>(socket: Socket, heard: (message: T) => void): void {
  const lines = createInterface({ input: socket });
  // What goes wrong with the socket is told here too, and closes it; its own listener has heard of that.
  lines.on('error', () => undefined);
  lines.on('line', (line) => {
    let message: T;
    try {
      message = JSON.parse(line) as T;
    } catch {
      // Somebody who speaks something else, such as a browser.
      socket.destroy();
      return;
    }
    heard(message);
  });
}
