import { mkdirSync, lstatSync, existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Extensions } from './browser/extensions';
import { stringOrEmpty, type Command, type Kind, type Result } from './protocol/command';
import { readFiles } from './files/read-files';
import { writeAtomically } from './host/files';
import type { Journal } from './runs/journal';
import type { OfferOutcome } from './protocol/listener';
import { type ImagingContext, readStoredCommand, runImaging } from './imaging/run-imaging';
import { withOrigin, type LocalLog } from './host/local-log';
import { killProcesses } from './runs/processes';
import { Redactor } from './runs/redactor';
import { originOf, type Origin } from './protocol/origin';
import type { Recorder } from './recordings/recorder';
import type { Results } from './spool/results';
import { restarted } from './runs/ends/ending';
import { removeOldRoots, sha256 } from './runs/run-files';
import type { Runs } from './runs/runs';
import { messageOf } from './protocol/service';
import { runCode } from './runs/snippet';
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
  /** Called when the worker must restart. After a repair, the new key is stored by then. */
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

  take(command: Command): OfferOutcome {
    return withOrigin(originOf(command), () => this.begin(command));
  }

  /** Continues session and imaging commands that an earlier start of the worker began, and fails the others. */
  async recover(): Promise<void> {
    const { folder, journal, results, log } = this.options;
    for (const { id, kind } of journal.unfinished().filter(({ kind }) => kind !== 'run')) {
      if (isSessionCommand(kind) && !results.has(id)) {
        // The browser may still execute the command, so the worker does not wait for the result here.
        this.finish(id, kind, this.options.sessions.resume(id), {});
        continue;
      }
      await killProcesses({ runId: id, root: null }, 0);
      const stored = results.has(id) ? null : readStoredCommand(folder, id, Date.now());
      if (stored) {
        withOrigin(originOf(stored), () => {
          log('info', 'resuming a command', { commandId: id, kind: stored.kind });
          this.work(stored);
        });
        continue;
      }
      if (!results.has(id)) results.put(id, { status: 'failed', error: restarted });
      // Removes the inputs of the command and its partial results.
      for (const parent of ['commands', 'imaging']) rmSync(join(folder, parent, id), { recursive: true, force: true });
      journal.finish(id);
    }
  }

  reject(commandId: string, reason: string): void {
    if (/^[\w-]{1,100}$/.test(commandId)) this.options.results.put(commandId, { status: 'failed', error: reason });
  }

  close(): void {
    this.closed = true;
  }

  async finished(): Promise<void> {
    await Promise.all(this.working.values());
  }

  private begin(command: Command): OfferOutcome {
    const { journal, runs, log } = this.options;
    const { commandId, kind, jobId } = command;
    if (journal.knows(commandId)) return 'known';
    if (this.closed) return 'stopping';
    if (kind === 'run' && journal.hasStopped(jobId!)) {
      // The stop_job command arrived before the run command and was answered, so the job must never run.
      log('info', 'a run arrived after its stop and was not started', { commandId, jobId });
      return 'known';
    }
    if (kind === 'run' && runs.isBusy) return 'busy';
    journal.start(commandId, kind, kind === 'stop_job' ? stopReasonOf(command) : jobId, Date.now());
    log('info', 'starting a command', { commandId, kind, jobId });
    if (kind === 'run') this.startRun(command);
    else this.work(command);
    return 'taken';
  }

  private startRun(command: Command): void {
    const { runs, log } = this.options;
    try {
      runs.start(command);
    } catch (error) {
      // The run is in the journal but not started, so the next start of the worker reports it as failed.
      log('error', 'could not start a run', { jobId: command.jobId, why: messageOf(error) });
    }
  }

  private work(command: Command): void {
    this.finish(command.commandId, command.kind, this.perform(command), originOf(command));
  }

  /**
   * Stores the result of a command when the command ends. If the result is null, the next start of the worker continues
   * the command.
   */
  private finish(commandId: string, kind: Kind, performed: Promise<Result | null>, origin: Origin): void {
    const { journal, results, sessions, onChange, log } = this.options;
    const done = performed
      .catch((error: unknown): Result => ({ status: 'failed', error: messageOf(error) }))
      .then((result) => {
        if (!result) return;
        results.put(commandId, result, origin);
        journal.finish(commandId);
        if (isSessionCommand(kind)) sessions.forget(commandId);
        const isRestart = kind === 'repair' || kind === 'restart';
        if (isRestart && result.status === 'success') this.options.onRestart(commandId);
      })
      .catch((error: unknown) => log('error', 'could not save a result', { commandId, why: messageOf(error) }))
      .finally(() => {
        this.working.delete(commandId);
        onChange();
      });
    this.working.set(commandId, done);
    onChange();
  }

  private async perform(command: Command): Promise<Result | null> {
    const { folder, runs } = this.options;
    const { commandId, kind, payload } = command;
    switch (kind) {
      case 'snippet':
      case 'function':
        return runCode(command, join(folder, 'commands', commandId), false, this.options.context);
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
        return this.options.recorder.perform(command);
      case 'deploy_extension':
        return this.options.extensions.deploy(command);
      case 'autopilot_open':
      case 'autopilot_look':
      case 'autopilot_attempt':
      case 'autopilot_close':
        return this.options.sessions.perform(command);
      case 'files':
        return this.showFiles(command);
      case 'answer':
        return runs.answer(command);
      case 'run':
        throw new Error('a run has no result');
    }
  }

  private async runSession(command: Command): Promise<Result> {
    const { folder, context } = this.options;
    const result = await runCode(command, sessionRoot(folder, command), true, context);
    removeOldRoots(join(folder, 'builder'), (name) => this.working.has(name), Date.now());
    return result;
  }

  private showFiles(command: Command): Result {
    const { folder, runs, secrets } = this.options;
    const own = new Redactor(secrets());
    return readFiles(command, join(folder, 'runs'), (text) => own.text(runs.redact(text)));
  }

  private async stopJob(command: Command): Promise<Result> {
    const { payload } = command;
    const graceMs = typeof payload.graceMs === 'number' ? Math.min(Math.max(0, payload.graceMs), 10 * 60_000) : 5_000;
    const error = stringOrEmpty(payload.reason) || 'the job was cancelled';
    const remaining = await this.options.runs.stopJob(stopReasonOf(command), { status: 'cancelled', error, graceMs });
    if (!remaining) return { status: 'success', output: { remaining } };
    return { status: 'failed', output: { remaining }, error: `${remaining} processes could not be killed` };
  }
}

function stopReasonOf({ jobId, payload }: Command): string {
  return stringOrEmpty(payload.jobId) || jobId || '';
}

/** Returns the folder of a builder session. The folder is retained, because its sources show what ran. */
function sessionRoot(folder: string, { commandId, payload }: Command): string {
  const requested = stringOrEmpty(payload.runRoot);
  return join(folder, /^builder\/[A-Za-z0-9][\w-]{0,99}$/.test(requested) ? requested : `builder/${commandId}`);
}

function storeScript(folder: string, { action, filename, script }: Record<string, unknown>): Result {
  if (action !== 'push') return { status: 'failed', error: 'a worker accepts only the action push' };
  const parts = stringOrEmpty(filename).split('/');
  const bad = parts.some((part) => !/^[^\0\\/]{1,200}$/.test(part) || part.startsWith('.'));
  if (bad || parts.length > 16) return { status: 'failed', error: 'the filename must stay in the scripts folder' };
  if (typeof script !== 'string') return { status: 'failed', error: 'the script is missing' };
  const path = join(folder, 'scripts', ...parts);
  for (let at = dirname(path); at.startsWith(join(folder, 'scripts')); at = dirname(at)) {
    if (existsSync(at) && !lstatSync(at).isDirectory()) return { status: 'failed', error: 'the path contains a link' };
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, script);
  return { status: 'success', output: { filename: parts.join('/'), path, sha256: sha256(script) } };
}
