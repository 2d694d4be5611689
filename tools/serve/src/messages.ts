import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Served } from './ports';

/**
 * The first message of a serve process. Its connection is its membership: the stack ends when the last connection is
 * closed.
 */
export interface Hello {
  app: Served;
  /** Folder of the clone whose app is served. */
  root: string;
}

/** Messages of the stack to its members. They contain no secrets; those are in a file that only the user can read. */
export type StackMessage =
  | { kind: 'welcome'; root: string; startedBy: string }
  | { kind: 'progress'; line: string }
  | { kind: 'ready'; firstStart: boolean }
  | { kind: 'changed'; files: string[] }
  | { kind: 'broken'; files: string[]; error: string }
  /** For standalone: whether it may run, because none of the six apps runs. */
  | { kind: 'alone'; alone: boolean }
  | { kind: 'failed'; error: string };

export function sendMessage(socket: Socket, message: Hello | StackMessage): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}

export function receiveMessages<T>(socket: Socket, onMessage: (message: T) => void): void {
  const lines = createInterface({ input: socket });
  // readline repeats the socket's errors. The socket's own listener handles them.
  lines.on('error', () => undefined);
  lines.on('line', (line) => {
    let message: T;
    try {
      message = JSON.parse(line) as T;
    } catch {
      // The client does not speak this protocol; it may be a browser.
      socket.destroy();
      return;
    }
    onMessage(message);
  });
}
