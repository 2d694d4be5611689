import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { getDevFolder } from './environment';
import { type Hello, receiveMessages, sendMessage, type StackMessage } from './messages';
import { portOf, type Served } from './ports';

const startTimeoutMs = 20_000;

export interface Joined {
  /** Whether this process started the stack. Only the process that started it prints its messages. */
  isFirst: boolean;
  leave(): void;
}

/** Joins the shared development stack, and starts it if it is not running. */
export async function joinStack(options: {
  app: Served;
  root: string;
  onMessage: (message: StackMessage) => void;
  lost: () => void;
}): Promise<Joined> {
  const { app, root, onMessage, lost } = options;
  const deadline = Date.now() + startTimeoutMs;
  const ownId = randomUUID();
  let started = false;
  for (;;) {
    const socket = await connectToStack();
    const welcome = socket && (await sendHello(socket, { app, root }, onMessage));
    if (socket && welcome) {
      if (welcome.root !== root) {
        socket.destroy();
        throw new Error(
          `another clone, ${welcome.root}, is served on these ports; end its nx serve processes, or set MUSTER_DEV_PORT`,
        );
      }
      socket.once('close', lost);
      const leaveStack = () => void socket.off('close', lost).end();
      return { isFirst: welcome.startedBy === ownId, leave: leaveStack };
    }
    if (Date.now() > deadline) {
      throw new Error(
        socket
          ? `port ${portOf.stack} is used by another program; set MUSTER_DEV_PORT`
          : `the development stack does not start, see ${getStackLogPath(root)}`,
      );
    }
    // Several processes may start a stack at once. Only one can listen on the port; the others exit.
    if (!socket && !started) startStack(root, ownId);
    started ||= !socket;
    await delay(100);
  }
}

async function connectToStack(): Promise<Socket | undefined> {
  const socket = connect(portOf.stack, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return socket.on('error', () => undefined);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return undefined;
    throw error;
  }
}

/** Returns the stack's welcome message, or undefined if the stack is about to end or another program listens. */
function sendHello(socket: Socket, hello: Hello, onMessage: (message: StackMessage) => void) {
  return new Promise<(StackMessage & { kind: 'welcome' }) | undefined>((resolve) => {
    const timer = setTimeout(() => socket.destroy(), startTimeoutMs);
    const handleClose = () => resolve(undefined);
    socket.once('close', handleClose);
    receiveMessages<StackMessage>(socket, (message) => {
      if (message.kind !== 'welcome') return onMessage(message);
      clearTimeout(timer);
      socket.off('close', handleClose);
      resolve(message);
    });
    sendMessage(socket, hello);
  });
}

/**
 * Starts the stack as a process without a parent, because it must outlive the serve process that started it. The shell
 * in between exits at once: nx ends all descendants of its tasks.
 */
function startStack(root: string, startedBy: string): void {
  mkdirSync(getDevFolder(root), { recursive: true, mode: 0o700 });
  const log = openSync(getStackLogPath(root), 'a', 0o600);
  const command = [process.execPath, join(root, 'tools/serve/serve.mjs'), 'stack', startedBy];
  spawn('/bin/sh', ['-c', '"$0" "$@" &', ...command], {
    cwd: root,
    detached: true,
    stdio: ['ignore', log, log],
  }).unref();
  closeSync(log);
}

export function getStackLogPath(root: string): string {
  return join(getDevFolder(root), 'stack.log');
}
