import { mkdirSync, lstatSync, existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Extensions } from './browser/extensions';
import { toStringOrEmpty, type Command, type Kind, type Result } from './protocol/command';
import { readRequestedFiles } from './files/read-files';
import { writeAtomically } from './host/files';
import type { Journal } from './runs/journal';
import type { OfferOutcome } from './protocol/listener';
import { type ImagingContext, readStoredCommand, runImaging } from './imaging/run-imaging';
import { runWithOrigin, type LocalLog } from './host/local-log';
import { killProcesses } from './runs/processes';
import { Redactor } from './runs/redactor';
import { getOrigin, type Origin } from './protocol/origin';
import type { Recorder } from './recordings/recorder';
import type { Results } from './spool/results';
import { restarted } from './runs/ends/ending';
import { removeOldRunFolders, sha256Hex } from './runs/run-files';
import type { Runs } from './runs/runs';
import { getErrorMessage } from './protocol/service';
import { runSnippet } from './runs/run-snippet';
import { isSessionCommand, type Sessions } from './sessions/sessions';

export interface CommandExecutorOptions {
  folder: string;
  journal: Journal;
  runs: Runs;
  results: Results;
  recorder: Recorder;
  sessions: Sessions;
  extensions: Extensions;
  context: ImagingContext;
  onChange: () => void;
  repair: (command: Command) => Promise<Result>;
  /** Called when the worker must restart. If a repair is the reason, its new key is already stored. */
  onRestart: (commandId: string) => void;
  /** Returns the worker's own secrets, such as its API key, which must be redacted. */
  secrets: () => string[];
  log: LocalLog;
}

/** Accepts commands, pushed or fetched. Starts each command once, and reports a result for all except runs. */
export class CommandExecutor {
  private readonly working = new Map<string, Promise<void>>();
  private closed = false;

  constructor(private readonly options: CommandExecutorOptions) {}

  get isWorking(): boolean {
    return this.working.size > 0;
  }

  takeCommand(command: Command): OfferOutcome {
    return runWithOrigin(getOrigin(command), () => this.beginCommand(command));
  }

  /** Continues session and imaging commands that an earlier start of the worker began, and fails the others. */
  async recoverCommands(): Promise<void> {
    const { folder, journal, results, log } = this.options;
    for (const { id, kind } of journal.listUnfinished().filter(({ kind }) => kind !== 'run')) {
      if (isSessionCommand(kind) && !results.hasResult(id)) {
        // The browser may still execute the command, so the worker does not wait for the result here.
        this.storeResultWhenDone(id, kind, this.options.sessions.resumeCommand(id), {});
        continue;
      }
      await killProcesses({ runId: id, root: null }, 0);
      const stored = results.hasResult(id) ? null : readStoredCommand(folder, id, Date.now());
      if (stored) {
        runWithOrigin(getOrigin(stored), () => {
          log('info', 'resuming a command', { commandId: id, kind: stored.kind });
          this.performInBackground(stored);
        });
        continue;
      }
      if (!results.hasResult(id)) results.storeResult(id, { status: 'failed', error: restarted });
      // Removes the inputs of the command and its partial results.
      for (const parent of ['commands', 'imaging']) rmSync(join(folder, parent, id), { recursive: true, force: true });
      journal.recordFinish(id);
    }
  }

  rejectCommand(commandId: string, reason: string): void {
    if (/^[\w-]{1,100}$/.test(commandId))
      this.options.results.storeResult(commandId, { status: 'failed', error: reason });
  }

  close(): void {
    this.closed = true;
  }

  async waitUntilFinished(): Promise<void> {
    await Promise.all(this.working.values());
  }

  private beginCommand(command: Command): OfferOutcome {
    const { journal, runs, log } = this.options;
    const { commandId, kind, jobId } = command;
    if (journal.hasStarted(commandId)) return 'known';
    if (this.closed) return 'stopping';
    if (kind === 'run' && journal.hasStoppedJob(jobId!)) {
      // The stop_job command arrived before the run command and was answered, so the job must never run.
      log('info', 'a run arrived after its stop and was not started', { commandId, jobId });
      return 'known';
    }
    if (kind === 'run' && runs.isBusy) return 'busy';
    journal.recordStart(commandId, kind, kind === 'stop_job' ? describeStopReason(command) : jobId, Date.now());
    log('info', 'starting a command', { commandId, kind, jobId });
    if (kind === 'run') this.startRun(command);
    else this.performInBackground(command);
    return 'taken';
  }

  private startRun(command: Command): void {
    const { runs, log } = this.options;
    try {
      runs.startRun(command);
    } catch (error) {
      // The run is in the journal but not started, so the next start of the worker reports it as failed.
      log('error', 'could not start a run', { jobId: command.jobId, why: getErrorMessage(error) });
    }
  }

  private performInBackground(command: Command): void {
    this.storeResultWhenDone(command.commandId, command.kind, this.performCommand(command), getOrigin(command));
  }

  /**
   * Stores the result of a command when the command ends. If the result is null, the next start of the worker continues
   * the command.
   */
  private storeResultWhenDone(commandId: string, kind: Kind, performed: Promise<Result | null>, origin: Origin): void {
    const { journal, results, sessions, onChange, log } = this.options;
    const done = performed
      .catch((error: unknown): Result => ({ status: 'failed', error: getErrorMessage(error) }))
      .then((result) => {
        if (!result) return;
        results.storeResult(commandId, result, origin);
        journal.recordFinish(commandId);
        if (isSessionCommand(kind)) sessions.forgetCommand(commandId);
        const isRestart = kind === 'repair' || kind === 'restart';
        if (isRestart && result.status === 'success') this.options.onRestart(commandId);
      })
      .catch((error: unknown) => log('error', 'could not save a result', { commandId, why: getErrorMessage(error) }))
      .finally(() => {
        this.working.delete(commandId);
        onChange();
      });
    this.working.set(commandId, done);
    onChange();
  }

  private async performCommand(command: Command): Promise<Result | null> {
    const { folder, runs } = this.options;
    const { commandId, kind, payload } = command;
    switch (kind) {
      case 'snippet':
      case 'function':
        return runSnippet(command, join(folder, 'commands', commandId), false, this.options.context);
      case 'imaging_images':
      case 'imaging_composite':
        return runImaging(command, this.options.context);
      case 'builder':
        return this.runSession(command);
      case 'stop_job':
        return this.stopJob(command);
      case 'script':
        return storeScript(folder, payload);
      case 'repair':
        return this.options.repair(command);
      case 'restart':
        return { status: 'success', output: { restarting: true } };
      case 'start_recording':
      case 'attach_recording':
      case 'stop_recording':
        return this.options.recorder.performCommand(command);
      case 'deploy_extension':
        return this.options.extensions.deployInTurn(command);
      case 'autopilot_open':
      case 'autopilot_look':
      case 'autopilot_attempt':
      case 'autopilot_close':
        return this.options.sessions.performCommand(command);
      case 'files':
        return this.readRunFiles(command);
      case 'answer':
        return runs.answerQuestion(command);
      case 'run':
        throw new Error('a run has no result');
    }
  }

  private async runSession(command: Command): Promise<Result> {
    const { folder, context } = this.options;
    const result = await runSnippet(command, getSessionRoot(folder, command), true, context);
    removeOldRunFolders(join(folder, 'builder'), (name) => this.working.has(name), Date.now());
    return result;
  }

  private readRunFiles(command: Command): Result {
    const { folder, runs, secrets } = this.options;
    const own = new Redactor(secrets());
    return readRequestedFiles(command, join(folder, 'runs'), (text) => own.redactText(runs.redactText(text)));
  }

  private async stopJob(command: Command): Promise<Result> {
    const { payload } = command;
    const graceMs = typeof payload.graceMs === 'number' ? Math.min(Math.max(0, payload.graceMs), 10 * 60_000) : 5_000;
    const error = toStringOrEmpty(payload.reason) || 'the job was cancelled';
    const remaining = await this.options.runs.stopJob(describeStopReason(command), {
      status: 'cancelled',
      error,
      graceMs,
    });
    if (!remaining) return { status: 'success', output: { remaining } };
    return { status: 'failed', output: { remaining }, error: `${remaining} processes could not be killed` };
  }
}

function describeStopReason({ jobId, payload }: Command): string {
  return toStringOrEmpty(payload.jobId) || jobId || '';
}

/** Returns the folder of a builder session. The folder is retained, because its sources show what ran. */
function getSessionRoot(folder: string, { commandId, payload }: Command): string {
  const requested = toStringOrEmpty(payload.runRoot);
  return join(folder, /^builder\/[A-Za-z0-9][\w-]{0,99}$/.test(requested) ? requested : `builder/${commandId}`);
}

function storeScript(folder: string, { action, filename, script }: Record<string, unknown>): Result {
  if (action !== 'push') return { status: 'failed', error: 'a worker accepts only the action push' };
  const parts = toStringOrEmpty(filename).split('/');
  const bad = parts.some((part) => !/^[^\0\\/]{1,200}$/.test(part) || part.startsWith('.'));
  if (bad || parts.length > 16)
    return { status: 'failed', error: 'the filename must be a path within the scripts folder' };
  if (typeof script !== 'string') return { status: 'failed', error: 'the script is missing' };
  const path = join(folder, 'scripts', ...parts);
  for (let at = dirname(path); at.startsWith(join(folder, 'scripts')); at = dirname(at)) {
    if (existsSync(at) && !lstatSync(at).isDirectory()) return { status: 'failed', error: 'the path contains a link' };
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, script);
  return { status: 'success', output: { filename: parts.join('/'), path, sha256: sha256Hex(script) } };
}
