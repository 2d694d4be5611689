import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { InterruptedAttempt, SessionClosed, SessionFault, SessionOpened } from '@muster/contracts';
import { type Extensions, noBrowser } from '../browser/extensions';
import { findBrowser } from '../browser/find-browser';
import type { LocalLog } from '../host/local-log';
import { type Command, isObject, type Kind, type Result, toStringOrEmpty } from '../protocol/command';
import type { Service } from '../protocol/service';
import { uploadFile } from '../protocol/upload';
import { killProcesses } from '../runs/processes';
import { Redactor } from '../runs/redactor';
import { type Outcome, Session } from './session';

export interface SessionsOptions {
  folder: string;
  agentId: string;
  base: Record<string, string>;
  python: string;
  service: Service;
  extensions: Extensions;
  stopping: AbortSignal;
  log: LocalLog;
}

const killGraceMs = 3_000;
const watchMs = 2_000;
const uploadTries = 3;
const sessionKinds: readonly Kind[] = ['autopilot_open', 'autopilot_look', 'autopilot_attempt', 'autopilot_close'];

export function isSessionCommand(kind: Kind): boolean {
  return sessionKinds.includes(kind);
}

/** The browsers of sessions, one at a time. A separate process keeps each browser and survives this worker. */
export class Sessions {
  private readonly folder: string;
  private readonly open = new Map<string, Session>();
  /** Ids of closed sessions. An open command that arrives after its close command starts nothing. */
  private readonly closed = new Set<string>();
  private watch: NodeJS.Timeout | undefined;
  private isDetached = false;

  constructor(private readonly options: SessionsOptions) {
    this.folder = join(options.folder, 'sessions');
    for (const name of existsSync(this.folder) ? readdirSync(this.folder) : []) {
      const session = Session.findSession(join(this.folder, name), name);
      this.open.set(name, session);
    }
    this.checkSessions();
  }

  /** Removes the dead sessions that an earlier start of the worker left. Sessions that are still alive continue. */
  async recoverSessions(): Promise<void> {
    await Promise.all(
      [...this.open.values()].filter((session) => !session.isAlive()).map((each) => this.removeSession(each)),
    );
  }

  /** Returns the result; null if the command continues and the next start of the worker returns its result. */
  async performCommand(command: Command): Promise<Result | null> {
    const sessionId = toStringOrEmpty(command.payload.sessionId);
    if (!/^[A-Za-z0-9][\w-]{0,99}$/.test(sessionId)) return { status: 'failed', error: 'sessionId must be an id' };
    if (command.kind === 'autopilot_close') return this.closeSession(sessionId);
    if (command.kind === 'autopilot_open') return this.openSession(sessionId, command);
    const session = this.open.get(sessionId);
    if (!session?.isAlive())
      return createFailedResult(
        'browser_lost',
        session?.readEndReason() || 'this worker has no browser for the session',
      );
    session.writeRequest(command, Date.now());
    return this.awaitResult(session, command.commandId);
  }

  /** Returns the result of a command that an earlier start of the worker began. */
  async resumeCommand(commandId: string): Promise<Result | null> {
    const session = [...this.open.values()].find((each) => each.hasRequest(commandId));
    if (session) return this.awaitResult(session, commandId);
    return createInterruptedResult('the worker was restarted before the command started', { submit: 'none', at: 0 });
  }

  /** Removes the files of a command whose result is in the spool. */
  forgetCommand(commandId: string): void {
    for (const session of this.open.values()) session.forgetCommand(commandId);
  }

  /** Stops watching the browsers, because the worker restarts and takes them over. */
  detachAll(): void {
    this.isDetached = true;
    clearInterval(this.watch);
  }

  async endAll(): Promise<void> {
    clearInterval(this.watch);
    await Promise.all([...this.open.values()].map((session) => this.removeSession(session)));
  }

  private async openSession(sessionId: string, command: Command): Promise<Result | null> {
    const { base, python, extensions, log } = this.options;
    const program = findBrowser(base);
    if (!program) return noBrowser;
    if (this.closed.has(sessionId))
      return createFailedResult('browser_lost', 'the session was closed before it was opened');
    const existing = this.open.get(sessionId);
    if (existing?.isAlive()) {
      existing.writeRequest(command, Date.now());
      return this.awaitResult(existing, command.commandId);
    }
    // Only one session is open at a time: opening another session ends the previous one.
    await Promise.all([...this.open.values()].map((session) => this.removeSession(session)));
    const env = { ...base, CHROMIUM: program };
    const session = Session.startSession(join(this.folder, sessionId), command, {
      python,
      env,
      extensions: extensions.listPaths(),
    });
    this.open.set(sessionId, session);
    this.checkSessions();
    log('info', 'started the browser of a session', { sessionId });
    return this.awaitResult(session, command.commandId);
  }

  private async awaitResult(session: Session, commandId: string): Promise<Result | null> {
    const outcome = await session.waitForAnswer(commandId, () => this.isDetached);
    if (outcome.is === 'detached') return null;
    if (outcome.is === 'answered') return this.presentOutcome(session, commandId, outcome);
    const { is, reason, attempted } = outcome;
    await this.removeSession(session);
    if (is === 'late')
      return { ...createFailedResult('execution_timeout', `the browser was ended: ${reason}`), output: attempted };
    if (session.isOpening(commandId))
      return createFailedResult('browser_lost', `the browser did not stay open: ${reason}`);
    return createInterruptedResult(reason, attempted);
  }

  private async presentOutcome(
    session: Session,
    commandId: string,
    { output: answer, picture }: Extract<Outcome, { is: 'answered' }>,
  ): Promise<Result> {
    const output: Record<string, unknown> = new Redactor(session.listSecrets(), '[secret]').redactDeep(answer);
    const uploaded = await this.uploadPicture(session, commandId, picture);
    if (isObject(output.look)) Object.assign(output.look, uploaded);
    if (!('look' in output && output.isOpened)) return { status: 'success', output };
    const { look, startError } = output as unknown as SessionOpened;
    const opened: SessionOpened = { reused: !session.isOpening(commandId), startError: startError ?? null, look };
    return { status: 'success', output: opened };
  }

  /** Uploads the screenshot, under a name that does not reveal its content. */
  private async uploadPicture(
    session: Session,
    commandId: string,
    picture: string | null,
  ): Promise<Record<string, unknown>> {
    if (!picture) return {};
    const { agentId, service, stopping } = this.options;
    let fault = '';
    for (let tries = 0; tries < uploadTries; tries += 1) {
      const filename = `session-${session.sessionId.slice(0, 8)}-${commandId.slice(0, 8)}.jpg`;
      const upload = { path: picture, filename, agentId };
      const { verdict, key, reason } = await uploadFile(service, upload, stopping).catch((error: Error) => ({
        verdict: 'later' as const,
        key: undefined,
        reason: error.message,
      }));
      if (verdict === 'delivered' && key) return { screenshotKey: key };
      fault = reason;
      if (verdict === 'refused') break;
    }
    return { screenshotFault: `the screenshot could not be uploaded: ${fault}` };
  }

  private async closeSession(sessionId: string): Promise<Result> {
    this.closed.add(sessionId);
    const session = this.open.get(sessionId);
    const remaining = session
      ? await this.removeSession(session)
      : await killProcesses({ runId: sessionId, root: null }, killGraceMs);
    const output: SessionClosed = { remaining };
    if (!remaining) return { status: 'success', output };
    return { status: 'failed', output, error: `${remaining} processes could not be killed` };
  }

  /** Kills the session's processes and removes its files. Returns the number of processes that could not be killed. */
  private async removeSession(session: Session): Promise<number> {
    const { sessionId } = session;
    const remaining = await killProcesses({ runId: sessionId, root: session.root }, killGraceMs);
    await session.waitUntilGone();
    if (this.open.get(sessionId) === session) this.open.delete(sessionId);
    return remaining;
  }

  /**
   * Checks at an interval whether the keeper process of a session has ended for any reason, and kills its browser then.
   */
  private checkSessions(): void {
    clearInterval(this.watch);
    if (!this.open.size) return;
    this.watch = setInterval(() => {
      for (const session of this.open.values()) {
        if (session.isAlive() || session.isWatchedOver) continue;
        session.isWatchedOver = true;
        this.options.log('warn', 'the browser of a session has ended', {
          sessionId: session.sessionId,
          why: session.readEndReason(),
        });
        void killProcesses({ runId: session.sessionId, root: session.root }, killGraceMs);
      }
    }, watchMs);
    this.watch.unref();
  }
}

function createFailedResult(code: SessionFault, error: string): Result {
  return { status: 'failed', code, error } as Result;
}

function createInterruptedResult(reason: string, output: InterruptedAttempt): Result {
  return {
    status: 'failed',
    code: 'interrupted',
    error: `the browser ended during the command: ${reason}`,
    output,
  } as Result;
}
