import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { devFolder } from './environment';
import { type Hello, receive, send, type StackMessage } from './messages';
import { portOf, type Served } from './ports';

const startTimeoutMs = 20_000;

export interface Joined {
  /** Whether the stack was not there before, and is ours to speak for. */
  isFirst: boolean;
  leave(): void;
}

/** Joins the one development stack, after starting it where nobody has. */
export async function joinStack(options: {
  app: Served;
  root: string;
  heard: (message: StackMessage) => void;
  lost: () => void;
}): Promise<Joined> {
  const { app, root, heard, lost } = options;
  const deadline = Date.now() + startTimeoutMs;
  const me = randomUUID();
  let started = false;
  for (;;) {
    const socket = await reach();
    const welcome = socket && (await introduce(socket, { app, root }, heard));
    if (socket && welcome) {
      if (welcome.root !== root) {
        socket.destroy();
        throw new Error(`${welcome.root} is already served on these ports; stop it, or set MUSTER_DEV_PORT`);
      }
      socket.once('close', lost);
      const leave = () => void socket.off('close', lost).end();
      return { isFirst: welcome.startedBy === me, leave };
    }
    if (Date.now() > deadline) {
      throw new Error(
        socket
          ? `port ${portOf.stack} is used by another program; set MUSTER_DEV_PORT`
          : `the development stack did not start; see ${stackLog(root)}`,
      );
    }
    // Several may do so at once: the port lets one of them be it, and the others leave.
    if (!socket && !started) startStack(root, me);
    started ||= !socket;
    await delay(100);
  }
}

async function reach(): Promise<Socket | undefined> {
  const socket = connect(portOf.stack, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return socket.on('error', () => undefined);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return undefined;
    throw error;
  }
}

/** Answers what the stack says of itself; nothing from one that is about to end, or from another program. */
function introduce(socket: Socket, hello: Hello, heard: (message: StackMessage) => void) {
  return new Promise<(StackMessage & { kind: 'welcome' }) | undefined>((resolve) => {
    const timer = setTimeout(() => socket.destroy(), startTimeoutMs);
    const closed = () => resolve(undefined);
    socket.once('close', closed);
    receive<StackMessage>(socket, (message) => {
      if (message.kind !== 'welcome') return heard(message);
      clearTimeout(timer);
      socket.off('close', closed);
      resolve(message);
    });
    send(socket, hello);
  });
}

/**
 * A process of nobody's: it outlives the serve that started it, for those that joined later. The shell between us
 * leaves at once, because nx ends the children of its tasks, and theirs, wherever they have gone.
 */
function startStack(root: string, startedBy: string): void {
  mkdirSync(devFolder(root), { recursive: true, mode: 0o700 });
  const log = openSync(stackLog(root), 'a', 0o600);
  const command = [process.execPath, join(root, 'tools/serve/serve.mjs'), 'stack', startedBy];
  spawn('/bin/sh', ['-c', '"$0" "$@" &', ...command], {
    cwd: root,
    detached: true,
    stdio: ['ignore', log, log],
  }).unref();
  closeSync(log);
}

export function stackLog(root: string): string {
  return join(devFolder(root), 'stack.log');
}
