import { type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort, isPortFree } from './find-free-port';
import {
  DevStackError,
  type Launch,
  createProgramError,
  endLeftovers,
  spawnGuarded,
  waitForExit,
  stopTimeoutMs,
} from './process';

export interface ServerSpec {
  part: 'postgres' | 'redis';
  /** The server's name in messages. */
  name: string;
  /** Folder of the port file and the log. */
  folder: string;
  /**
   * The server's working folder. Together with the program names it identifies processes that an earlier run left
   * behind.
   */
  dataFolder: string;
  programs: string[];
  fixedPort?: number;
  launch(port: number): Launch;
  /** Prepares the data before each start, after processes of earlier runs have ended. */
  beforeStart?(): Promise<void>;
  /**
   * Returns the server's version if it accepts connections and is really the process `pid`; undefined if it is not
   * ready.
   */
  answers(port: number, pid: number): Promise<string | undefined>;
  stopSignal: NodeJS.Signals;
  /** Signal for the server if this process has died without stopping it. */
  orphanSignal: NodeJS.Signals;
}

/** A running server, for tests and operators. It can be killed by its pid and started again with restart(). */
export interface ChildHandle {
  readonly pid: number;
  readonly port: number;
  readonly version: string;
  readonly logFile: string;
  /** Ends the server if it runs, and starts it again on the same port and data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Input for preparing a server. */
export interface PartSetting {
  dataDir: string;
  /** The server's folder below dataDir; it exists. */
  folder: string;
  password: string;
  durable: boolean;
  fixedPort?: number;
  postgresMajor?: number;
  /** Folders that may contain downloaded programs; `writableCache` returns the first writable one. */
  cacheDirs: string[];
  writableCache: () => Promise<string>;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

export interface PreparedPart {
  source: 'path' | 'cache' | 'package';
  spec: ServerSpec;
  url(port: number): string;
}

const readyTimeoutMs = 120_000;
const pollMs = 25;
const rotateLogAtBytes = 10 * 1024 * 1024;

/** Starts a server on its stored port, or on another port if that is in use, and waits until it accepts connections. */
export async function startServer(
  spec: ServerSpec,
  onProgress: (line: string) => void,
  keepAlive = false,
): Promise<ChildHandle> {
  const portFile = join(spec.folder, 'port');
  const logFile = join(spec.folder, `${spec.part}.log`);
  let running: Running | undefined;
  let port = spec.fixedPort ?? (Number(await readFile(portFile, 'utf8').catch(() => '')) || (await findFreePort()));

  const tryStartOnPort = async (wanted: number): Promise<'started' | 'port taken'> => {
    await endLeftovers(spec.dataFolder, spec.programs, spec.orphanSignal);
    await spec.beforeStart?.();
    if (!(await isPortFree(wanted))) return 'port taken';
    await writeFile(portFile, `${wanted}\n`);
    const outcome = await launchServer(
      spec,
      wanted,
      logFile,
      onProgress,
      keepAlive ? restartAfterDeath : () => undefined,
    );
    if (outcome === 'port taken') return outcome;
    running = outcome;
    return 'started';
  };
  const getUsedPort = () =>
    new DevStackError(
      `Port ${port} for ${spec.name} is used by another program; end that program, or choose another port.`,
    );

  // Actions run one at a time: a stop() during a restart() waits for it, and ends the restarted server.
  let turn: Promise<void> = Promise.resolve();
  const runNext = (action: () => Promise<void>) => (turn = turn.catch(() => undefined).then(action));
  let ending = false;
  function restartAfterDeath(): void {
    void runNext(async () => {
      for (let attempt = 1; !ending; attempt += 1) {
        const outcome = await tryStartOnPort(port).catch((error: Error) => error.message);
        if (outcome === 'started') return onProgress(`${spec.part} is back`);
        if (attempt === 30) return onProgress(`${spec.part} could not be restarted: ${outcome}`);
        await delay(1000);
      }
    });
  }

  for (let attempt = 1; (await tryStartOnPort(port)) === 'port taken'; attempt += 1) {
    if (spec.fixedPort || attempt === 10) throw getUsedPort();
    port = await findFreePort();
  }

  const endServerForGood = async () => running && endServer(running, spec.stopSignal);
  return {
    get pid() {
      return running!.pid;
    },
    get port() {
      return port;
    },
    get version() {
      return running!.version;
    },
    logFile,
    stop: () => {
      ending = true;
      return runNext(endServerForGood);
    },
    restart: () =>
      runNext(async () => {
        await endServerForGood();
        if ((await tryStartOnPort(port)) === 'port taken') throw getUsedPort();
      }),
  };
}

interface Running {
  child: ChildProcess;
  pid: number;
  version: string;
  exited: Promise<void>;
  stopping: boolean;
}

async function launchServer(
  spec: ServerSpec,
  port: number,
  logFile: string,
  onProgress: (line: string) => void,
  onDeath: () => void,
): Promise<Running | 'port taken'> {
  const size = (await stat(logFile).catch(() => null))?.size ?? 0;
  if (size > rotateLogAtBytes) await rename(logFile, `${logFile}.1`);
  const logStart = size > rotateLogAtBytes ? 0 : size;
  const log = openSync(logFile, 'a', 0o600);
  const child = spawnGuarded(spec.launch(port), log, spec.orphanSignal);
  closeSync(log);
  const server: Running = { child, pid: child.pid!, version: '', exited: waitForExit(child), stopping: false };
  // A server must not keep this process alive. If this process ends without a stop, the guard ends the server.
  child.unref();

  const deadline = Date.now() + readyTimeoutMs;
  while (child.exitCode === null && child.signalCode === null) {
    try {
      server.version = (await spec.answers(port, server.pid)) ?? '';
      if (!server.version && Date.now() > deadline)
        throw new DevStackError(`${spec.name} did not answer within ${readyTimeoutMs / 1000} s; see ${logFile}.`);
    } catch (error) {
      await endServer(server, 'SIGKILL');
      throw error;
    }
    if (server.version) {
      child.once('exit', (code, signal) => {
        if (server.stopping) return;
        onProgress(`${spec.part} ended unexpectedly (${signal ?? code}), see ${logFile}`);
        onDeath();
      });
      return server;
    }
    await delay(pollMs);
  }
  const output = await readFrom(logFile, logStart);
  if (/address already in use/i.test(output)) return 'port taken';
  throw createProgramError(spec.name, output, spec.dataFolder, logFile);
}

async function endServer(server: Running, signal: NodeJS.Signals): Promise<void> {
  if (server.child.exitCode !== null || server.child.signalCode !== null) return;
  server.stopping = true;
  server.child.kill(signal);
  server.child.kill('SIGCONT'); // a server that a test has suspended handles the signal only after this
  const late = setTimeout(() => server.child.kill('SIGKILL'), stopTimeoutMs);
  await server.exited;
  clearTimeout(late);
}

async function readFrom(file: string, start: number): Promise<string> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const from = Math.max(start, size - 20_000);
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(Math.max(0, size - from)),
      0,
      Math.max(0, size - from),
      from,
    );
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
