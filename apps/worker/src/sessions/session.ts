import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InterruptedAttempt, OpenSession } from '@muster/contracts';
import { readJson, writeAtomically } from '../host/files';
import { launchScript, readExitCode } from '../host/launcher';
import { closeTemporaryFolder, openTemporaryFolder } from '../host/short-folder';
import { type Command, isObject, toStringOrEmpty } from '../protocol/command';
import { isAlive, readEnvironment, readProcess } from '../runs/processes';

/**
 * Record of the process that keeps the browser. The record is stored in a file, so that a restarted worker finds the
 * process.
 */
interface Keeper {
  pid: number;
  startTime: string;
  openedBy: string;
  deadline: number;
  /** Names of the secrets. Their values are only in the environment of the process. */
  secretNames: string[];
}

interface Machine {
  python: string;
  env: Record<string, string>;
  extensions: string[];
}

export type Outcome =
  | { is: 'answered'; output: Record<string, unknown>; picture: string | null }
  /** The browser of the session has ended, or did not answer the command before its deadline. */
  | { is: 'gone' | 'late'; attempted: InterruptedAttempt; reason: string }
  /**
   * The worker ends before the command does. The command continues, and the next start of the worker reads its answer.
   */
  | { is: 'detached' };

const pollMs = 20;
/** Time before the deadline that is reserved for uploading the screenshot and sending the answer. */
const reserveMs = 5_000;
const usualMs = 120_000;
const maxMemoryBytes = 2 * 1024 ** 3;
const idleMinutes = 24 * 60;
const folders = ['asked', 'answers', 'pictures', 'journal', 'tmp'];

/**
 * A process that keeps a browser, and the folder through which the worker and the process communicate. Each command and
 * each answer is a file, so nothing is lost if either of the two is killed.
 */
export class Session {
  private waiting = 0;
  private isGone = false;
  isWatchedOver = false;

  private constructor(
    readonly folder: string,
    readonly sessionId: string,
    private readonly keeper: Keeper | null,
  ) {}

  static startSession(folder: string, command: Command, { python, env, extensions }: Machine): Session {
    const { commandId, payload, deadline } = command;
    const input = payload as unknown as OpenSession;
    const secretNames = (Array.isArray(payload.secretNames) ? payload.secretNames : []).map(String);
    rmSync(folder, { recursive: true, force: true });
    for (const name of folders) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
    const script = join(folder, 'program.py');
    writeFileSync(script, toStringOrEmpty(input.program), { mode: 0o600 });
    const opened = {
      startUrl: toStringOrEmpty(input.startUrl),
      allowedOrigins: Array.isArray(input.allowedOrigins) ? input.allowedOrigins.map(String) : [],
      inputs: isObject(input.inputs) ? input.inputs : {},
      idleMinutes: input.idleMinutes ?? idleMinutes,
      memoryBytes: Math.min(maxMemoryBytes, totalmem() * 0.6),
      secretNames,
    };
    writeAtomically(join(folder, 'open.json'), JSON.stringify(opened));
    const silence = openSync('/dev/null', 'w');
    const messages = openSync(join(folder, 'messages.log'), 'a', 0o600);
    const child = launchScript({
      python,
      exitFile: join(folder, 'exit-code'),
      script,
      cwd: folder,
      env: {
        ...env,
        ...Object.fromEntries(secretNames.flatMap((name) => (name in command.env ? [[name, command.env[name]!]] : []))),
        PYTHONDONTWRITEBYTECODE: '1',
        PYTHONIOENCODING: 'utf-8:replace',
        MUSTER_RUN_ID: command.payload.sessionId as string,
        MUSTER_BROWSER_EXTENSIONS: extensions.join(delimiter),
        TMPDIR: openTemporaryFolder(folder),
      },
      stdout: silence,
      stderr: messages,
    });
    closeSync(silence);
    closeSync(messages);
    // If the process cannot start, isAlive() returns false, so this error is ignored.
    child.once('error', () => undefined);
    child.unref();
    const pid = child.pid ?? 0;
    const keeper: Keeper = {
      pid,
      startTime: readProcess(pid)?.startTime ?? '',
      openedBy: commandId,
      deadline: deadline ?? Date.now() + usualMs,
      secretNames,
    };
    writeAtomically(join(folder, 'keeper.json'), JSON.stringify(keeper));
    return new Session(folder, toStringOrEmpty(payload.sessionId), keeper);
  }

  /** Returns the session that an earlier start of the worker has left, alive or not. */
  static findSession(folder: string, sessionId: string): Session {
    return new Session(folder, sessionId, readJson<Keeper>(join(folder, 'keeper.json')) ?? null);
  }

  get root(): { pid: number; startTime: string } | null {
    return this.keeper;
  }

  isAlive(): boolean {
    if (this.isGone || !this.keeper || readExitCode(join(this.folder, 'exit-code')) !== null) return false;
    return isAlive(this.keeper);
  }

  isOpening(commandId: string): boolean {
    return this.keeper?.openedBy === commandId;
  }

  hasRequest(commandId: string): boolean {
    return (
      this.isOpening(commandId) || ['asked', 'answers'].some((place) => existsSync(this.getFilePath(place, commandId)))
    );
  }

  /** Returns the session's secrets, which must be redacted in the answers. */
  listSecrets(): string[] {
    if (!this.keeper) return [];
    const { pid, secretNames } = this.keeper;
    const env = readEnvironment(pid);
    return secretNames.map((name) => env[name]).filter((value): value is string => Boolean(value));
  }

  writeRequest({ commandId, kind, payload, deadline }: Command, now: number): void {
    const { program: _, secretNames: __, ...request } = payload;
    const until = deadline ?? now + usualMs;
    const left = until - now;
    const question = { kind, payload: request, deadline: until, leftMs: Math.max(left / 2, left - 2 * reserveMs) };
    writeAtomically(this.getFilePath('asked', commandId), JSON.stringify(question));
  }

  async waitForAnswer(commandId: string, isDetached: () => boolean): Promise<Outcome> {
    this.waiting += 1;
    try {
      const deadline = this.readDeadline(commandId) - reserveMs / 2;
      for (;;) {
        // isAlive() is called before the answer is read, because an answer that the process wrote before it ended
        // counts.
        const isAlive = this.isAlive();
        const answer = this.readAnswer(commandId);
        if (answer) return answer;
        if (isDetached()) return { is: 'detached' };
        const attempted = this.describeInterruption(commandId);
        if (!isAlive) return { is: 'gone', attempted, reason: this.readEndReason() };
        if (Date.now() > deadline)
          return { is: 'late', attempted, reason: 'the browser process did not answer in time' };
        await sleep(pollMs);
      }
    } finally {
      this.waiting -= 1;
    }
  }

  forgetCommand(commandId: string): void {
    const picture = this.isOpening(commandId) ? 'start' : commandId;
    rmSync(this.getFilePath('answers', commandId), { force: true });
    rmSync(join(this.folder, 'pictures', `${picture}.jpg`), { force: true });
    rmSync(join(this.folder, 'journal', `${commandId}.jsonl`), { force: true });
  }

  /**
   * Removes the session's files after its processes have ended, once the calls that wait for an answer have returned.
   */
  async waitUntilGone(): Promise<void> {
    this.isGone = true;
    while (this.waiting) await sleep(pollMs);
    closeTemporaryFolder(this.folder);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  readEndReason(): string {
    const over = readJson<{ why: string }>(join(this.folder, 'over.json'))?.why;
    if (over) return over;
    try {
      const lines = readFileSync(join(this.folder, 'messages.log'), 'utf8').trim().split('\n');
      return lines.at(-1)?.slice(-500) || 'the browser was ended';
    } catch {
      return 'the browser was ended';
    }
  }

  private readAnswer(commandId: string): Outcome | null {
    if (!this.isOpening(commandId)) {
      const output = readJson<Record<string, unknown>>(this.getFilePath('answers', commandId));
      return output ? { is: 'answered', output, picture: this.readPicture(commandId) } : null;
    }
    const output = readJson<Record<string, unknown>>(join(this.folder, 'ready.json'));
    return output ? { is: 'answered', output, picture: this.readPicture('start') } : null;
  }

  private readPicture(name: string): string | null {
    const path = join(this.folder, 'pictures', `${name}.jpg`);
    return existsSync(path) ? path : null;
  }

  /** Returns how far an interrupted attempt got, from the journal that it writes before each action. */
  private describeInterruption(commandId: string): InterruptedAttempt {
    const interrupted: InterruptedAttempt = { submit: 'none', at: 0 };
    const path = join(this.folder, 'journal', `${commandId}.jsonl`);
    if (!existsSync(path)) return interrupted;
    const text = readFileSync(path, 'utf8');
    for (const line of text.split('\n').slice(0, -1)) {
      const { at, submit } = JSON.parse(line) as { at: number; submit?: 'ahead' | 'done' };
      interrupted.at = at;
      if (submit) interrupted.submit = submit === 'ahead' ? 'unknown' : 'done';
    }
    return interrupted;
  }

  private readDeadline(commandId: string): number {
    const deadline = readJson<{ deadline: number }>(this.getFilePath('asked', commandId))?.deadline;
    return deadline ?? (this.isOpening(commandId) ? this.keeper!.deadline : Date.now() + usualMs);
  }

  private getFilePath(parent: string, commandId: string): string {
    return join(this.folder, parent, `${commandId}.json`);
  }
}
