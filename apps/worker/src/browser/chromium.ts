import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeTemporaryFolder, openTemporaryFolder } from '../host/short-folder';

/** Fields of a message of the DevTools protocol. Each kind of message has other fields, so they have no static type. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Params = Record<string, any>;
type Listener = (method: string, params: Params, sessionId: string | undefined) => void;

export interface ChromiumOptions {
  program: string;
  /** Folder for the profile, the messages and the temporary files. It is removed when the browser is closed. */
  folder: string;
  env: Record<string, string>;
  /** Whether the browser runs without a display. */
  headless: boolean;
  /** Folders of unpacked extensions that are loaded at the start. */
  extensions: string[];
  flags?: string[];
}

export interface LoadedExtension {
  id: string;
  name: string;
  version: string;
  enabled: boolean;
  path: string;
}

const answerMs = 30_000;
const closeMs = 5_000;

/**
 * A browser that the worker controls over a pipe with the DevTools protocol. Extensions can be loaded only over a pipe.
 * The browser ends with the worker, because the worker holds the other end of the pipe.
 */
export class Chromium {
  private readonly waiting = new Map<number, { resolve: (answer: Params) => void; fail: (error: Error) => void }>();
  private readonly listeners = new Set<Listener>();
  private count = 0;
  private isGone = false;
  readonly exited: Promise<void>;

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {
    this.exited = new Promise((resolve) => child.once('close', () => resolve()));
    void this.exited.then(() => this.failPendingCalls());
    child.once('error', () => this.failPendingCalls());
    (child.stdio[3] as Writable).on('error', () => undefined);
    this.readMessages(child.stdio[4] as Readable);
  }

  static async launch({ program, folder, env, headless, extensions, flags = [] }: ChromiumOptions): Promise<Chromium> {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, 'tmp'), { recursive: true, mode: 0o700 });
    const messages = openSync(join(folder, 'messages.log'), 'a', 0o600);
    const child = spawn(
      program,
      [
        ...(headless ? ['--headless=new'] : []),
        '--remote-debugging-pipe',
        `--user-data-dir=${join(folder, 'profile')}`,
        '--no-first-run',
        '--no-default-browser-check',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--disable-dev-shm-usage',
        '--disable-gpu',
        '--mute-audio',
        '--password-store=basic',
        // Keeps frames of other sites in the DevTools session of their page.
        '--disable-site-isolation-trials',
        '--disable-features=IsolateOrigins,site-per-process,Translate',
        '--enable-unsafe-extension-debugging',
        // Chromium's sandbox refuses to work for root.
        ...(process.geteuid?.() === 0 ? ['--no-sandbox'] : []),
        ...flags,
        'about:blank',
      ],
      {
        env: { ...env, TMPDIR: openTemporaryFolder(folder) },
        stdio: ['ignore', messages, messages, 'pipe', 'pipe'],
      },
    );
    closeSync(messages);
    const browser = new Chromium(child, folder);
    try {
      await browser.callMethod('Browser.getVersion');
      for (const path of extensions) await browser.callMethod('Extensions.loadUnpacked', { path });
      return browser;
    } catch (error) {
      const message = browser.getLastErrorLine();
      await browser.close();
      throw new Error(`the browser did not start${message && `: ${message}`}`, { cause: error });
    }
  }

  async callMethod(method: string, params: Params = {}, sessionId?: string): Promise<Params> {
    if (this.isGone) throw new Error('the browser has ended');
    const id = (this.count += 1);
    const answer = new Promise<Params>((resolve, fail) => this.waiting.set(id, { resolve, fail }));
    const timer = setTimeout(
      () => this.waiting.get(id)?.fail(new Error(`the browser did not answer ${method} within ${answerMs} ms`)),
      answerMs,
    );
    try {
      const message = { id, method, params, ...(sessionId ? { sessionId } : {}) };
      (this.child.stdio[3] as Writable).write(`${JSON.stringify(message)}\0`);
      const { error, result } = await answer;
      if (error) throw new Error(`${method}: ${String(error.message)}`);
      return result as Params;
    } finally {
      clearTimeout(timer);
      this.waiting.delete(id);
    }
  }

  addListener(listener: Listener): void {
    this.listeners.add(listener);
  }

  async listExtensions(): Promise<LoadedExtension[]> {
    return (await this.callMethod('Extensions.getExtensions')).extensions as LoadedExtension[];
  }

  /** Asks the browser to close, so that it can clean up, and kills it if it does not end. */
  async close(): Promise<void> {
    void this.callMethod('Browser.close').catch(() => undefined);
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const over = await Promise.race([this.exited.then(() => true), sleep(closeMs, false, { ref: false })]);
      if (over) break;
      this.child.kill(signal);
    }
    closeTemporaryFolder(this.folder);
    // Child processes may still write for a moment after the browser has ended.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  kill(): void {
    this.child.kill('SIGKILL');
    closeTemporaryFolder(this.folder);
  }

  private readMessages(stream: Readable): void {
    let rest: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (piece: Buffer) => {
      for (let at = piece.indexOf(0); at !== -1; at = piece.indexOf(0)) {
        const message = Buffer.concat([...rest, piece.subarray(0, at)]).toString('utf8');
        rest = [];
        piece = piece.subarray(at + 1);
        this.dispatchMessage(JSON.parse(message) as Params);
      }
      if (piece.length) rest.push(piece);
    });
  }

  private dispatchMessage(message: Params): void {
    if (typeof message.id === 'number') return this.waiting.get(message.id)?.resolve(message);
    const { method, params, sessionId } = message;
    for (const listener of this.listeners) listener(String(method), params as Params, sessionId as string | undefined);
  }

  private failPendingCalls(): void {
    this.isGone = true;
    for (const { fail } of this.waiting.values()) fail(new Error('the browser has ended'));
  }

  private getLastErrorLine(): string {
    try {
      const lines = readFileSync(join(this.folder, 'messages.log'), 'utf8').trim().split('\n');
      return (
        lines.find((line) => /FATAL|No usable sandbox|error while loading/i.test(line)) ??
        lines.at(-1) ??
        ''
      ).slice(-500);
    } catch {
      return '';
    }
  }
}
