import { execFile } from 'node:child_process';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { writeEnvironment } from './environment';
import { type Hello, receiveMessages, sendMessage, type StackMessage } from './messages';
import type { Parts } from './parts';
import { isServiceApp, portOf, type Served } from './ports';
import { watchSources } from './watch-sources';

const emptyForMs = 3000;
const firstJoinWithinMs = 30_000;
const standaloneDelayMs = 500;
const leaveWithinMs = 12_000;

/**
 * Runs the process that all serve processes of a clone share: Postgres, Redis and the object store, the build and the
 * watcher. Listening on its port makes it the only one. It exits when the last member has disconnected.
 */
export async function runStack(root: string, startedBy = ''): Promise<void> {
  const server = createServer();
  if (!(await listenIfFirst(server))) return;
  const stack = new Stack(root, server, startedBy);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stack.endAfterMembers());
  process.on('SIGHUP', () => undefined);
  await stack.runUntilEnd();
}

class Stack {
  private readonly members = new Map<Socket, Served>();
  private readonly dirty = new Set<string>();
  private readonly began = Date.now();
  private parts?: Parts;
  private unwatch?: () => void;
  private turn: Promise<void> = Promise.resolve();
  private emptyTimer = setTimeout(() => void this.endWithCode(0), firstJoinWithinMs);
  private standaloneTimer?: NodeJS.Timeout;
  private ready?: StackMessage;
  private ending = false;

  constructor(
    private readonly root: string,
    server: Server,
    private readonly startedBy: string,
  ) {
    server.on('connection', (socket) => this.addMember(socket));
  }

  async runUntilEnd(): Promise<void> {
    try {
      this.unwatch = watchSources(this.root, ['libs', 'apps', 'tools/dev-proxy'], (files) => this.handleChanges(files));
      await this.runBuild();
      // Imported after the build, which compiles what it imports.
      const { startParts } = await import('./parts.js');
      this.parts = await startParts(this.root, (line) => this.broadcastProgress(line));
      await writeEnvironment(this.root, this.parts.environment);
      await this.runMigrations();
      this.broadcastProgress(`ready in ${((Date.now() - this.began) / 1000).toFixed(1)} s`);
      this.ready = { kind: 'ready', firstStart: this.parts.firstStart };
      this.broadcastMessage(this.ready);
      this.updateStandalone();
    } catch (error) {
      await this.failWithError(error);
    }
  }

  /** Called on a signal. The serve processes get the same signal, and need the stack until their apps have ended. */
  async endAfterMembers(): Promise<void> {
    const deadline = Date.now() + leaveWithinMs;
    while (this.members.size && Date.now() < deadline) await new Promise((resume) => setTimeout(resume, 50));
    await this.endWithCode(0);
  }

  private addMember(socket: Socket): void {
    socket.on('error', () => undefined);
    // The client retries, and starts another stack when the port and the folder are free.
    if (this.ending) return void socket.destroy();
    receiveMessages<Hello>(socket, ({ app, root }) => {
      sendMessage(socket, { kind: 'welcome', root: this.root, startedBy: this.startedBy });
      if (root !== this.root) return;
      clearTimeout(this.emptyTimer);
      this.members.set(socket, app);
      if (this.ready) sendMessage(socket, { ...this.ready, firstStart: false } as StackMessage);
      this.updateStandalone();
    });
    socket.on('close', () => {
      if (!this.members.delete(socket)) return;
      this.updateStandalone();
      if (this.members.size === 0) this.emptyTimer = setTimeout(() => void this.endWithCode(0), emptyForMs);
    });
  }

  /**
   * Lets standalone run while none of the six apps runs. Waits a moment, because several apps may join or leave at
   * once.
   */
  private updateStandalone(): void {
    clearTimeout(this.standaloneTimer);
    if (!this.ready) return;
    this.standaloneTimer = setTimeout(() => {
      const alone = ![...this.members.values()].some(isServiceApp);
      for (const [socket, app] of this.members) if (app === 'standalone') sendMessage(socket, { kind: 'alone', alone });
    }, standaloneDelayMs);
  }

  private handleChanges(files: string[]): void {
    for (const file of files) this.dirty.add(file);
    this.turn = this.turn.then(() => this.rebuildAndRestart());
  }

  private async rebuildAndRestart(): Promise<void> {
    // Before the stack is ready, everything is built anyway. Files that change during a build stay in `dirty`.
    const files = [...this.dirty];
    if (!files.length || !this.ready || this.ending) return;
    const began = Date.now();
    try {
      const compiled = await this.runBuild();
      if (files.some((file) => file.startsWith('libs/database/src/migrations/'))) await this.runMigrations();
      for (const file of files) this.dirty.delete(file);
      this.broadcastProgress(`built ${compiled} files in ${Date.now() - began} ms`);
      this.broadcastMessage({ kind: 'changed', files });
    } catch (error) {
      // The compiler's message shows the error's position first, and then its own internals.
      const [fault] = (error as Error).message.split('\n\nCaused by');
      console.error(fault);
      this.broadcastMessage({ kind: 'broken', files, error: fault!.trim() });
    }
  }

  private async runBuild(): Promise<number> {
    const { build } = (await import(pathToFileURL(join(this.root, 'tools/build/build.mjs')).href)) as {
      build(): Promise<{ compiled: number }>;
    };
    return (await build()).compiled;
  }

  /** Migrates the database in a new process, because this process has already loaded the old code. */
  private async runMigrations(): Promise<void> {
    const env = { ...process.env, DATABASE_URL: this.parts!.environment['DATABASE_URL'] };
    const script = join(this.root, 'dist/tools/deploy/migrate.js');
    const { stdout } = await promisify(execFile)(process.execPath, [script], { env });
    this.broadcastProgress(stdout.trim());
  }

  private broadcastProgress(line: string): void {
    console.log(`${new Date().toISOString()} ${line}`);
    this.broadcastMessage({ kind: 'progress', line });
  }

  private broadcastMessage(message: StackMessage): void {
    for (const socket of this.members.keys()) sendMessage(socket, message);
  }

  private async failWithError(error: unknown): Promise<void> {
    console.error(error);
    this.broadcastMessage({ kind: 'failed', error: (error as Error).message });
    await this.endWithCode(1);
  }

  private async endWithCode(exitCode: number): Promise<void> {
    if (this.ending) return;
    this.ending = true;
    this.unwatch?.();
    await this.parts?.stop();
    for (const socket of this.members.keys()) socket.end();
    console.log(`${new Date().toISOString()} ended`);
    process.exit(exitCode);
  }
}

/** Listens on the stack's port. Returns false if another stack already does. */
function listenIfFirst(server: Server): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(portOf.stack, '127.0.0.1', () => resolve(true));
  });
}
