import { mkdirSync, lstatSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Extensions } from './browser/extensions';
import { textOf, type Command, type Result } from './protocol/command';
import { writeWhole } from './host/files';
import type { Journal } from './runs/journal';
import type { Taking } from './protocol/listener';
import type { LocalLog } from './host/local-log';
import { killProcesses } from './runs/processes';
import { originOf } from './protocol/origin';
import type { Recorder } from './recordings/recorder';
import type { Results } from './spool/results';
import { restarted } from './runs/run';
import { removeOldRoots, sha256 } from './runs/run-files';
import type { Runs } from './runs/runs';
import { messageOf } from './protocol/service';
import { runCode, type SnippetContext } from './runs/snippet';

export interface CommandExecutorOptions {
  folder: string;
  journal: Journal;
  runs: Runs;
  results: Results;
  recorder: Recorder;
  extensions: Extensions;
  context: SnippetContext;
  onChange: () => void;
  repair: (command: Command) => Promise<Result>;
  /** The worker is to begin again, with the key that it has by then. */
  onRestart: (commandId: string) => void;
  log: LocalLog;
}

/** Where commands arrive, pushed or fetched: each is started once, and all but a run are answered with a result. */
export class CommandExecutor {
  private readonly working = new Map<string, Promise<void>>();
  private closed = false;

  constructor(private readonly options: CommandExecutorOptions) {}

  get isWorking(): boolean {
    return this.working.size > 0;
  }

  take(command: Command): Taking {
    const { journal, runs, log } = this.options;
    const { commandId, kind, jobId } = command;
    if (journal.knows(commandId)) return 'known';
    if (this.closed) return 'stopping';
    if (kind === 'run' && journal.hasStopped(jobId!)) {
      // The stop overtook the run, and was answered: nothing of this job runs any more, nor ever will.
      log('info', 'a run came after its stop', { commandId, jobId });
      return 'known';
    }
    if (kind === 'run' && runs.isBusy) return 'busy';
    journal.start(commandId, kind, kind === 'stop_job' ? stoppedBy(command) : jobId, Date.now());
    log('info', 'a command starts', { commandId, kind, jobId });
    if (kind === 'run') this.startRun(command);
    else this.work(command);
    return 'taken';
  }

  /** Commands that another start of the worker began, and whose end it didn't see. */
  async recover(): Promise<void> {
    const { journal, results } = this.options;
    for (const { id } of journal.unfinished().filter(({ kind }) => kind !== 'run')) {
      await killProcesses({ runId: id, root: null }, 0);
      if (!results.has(id)) results.put(id, { status: 'failed', error: restarted });
      journal.finish(id);
    }
  }

  reject(commandId: string, why: string): void {
    if (/^[\w-]{1,100}$/.test(commandId)) this.options.results.put(commandId, { status: 'failed', error: why });
  }

  close(): void {
    this.closed = true;
  }

  async finished(): Promise<void> {
    await Promise.all(this.working.values());
  }

  private startRun(command: Command): void {
    const { runs, log } = this.options;
    try {
      runs.start(command);
    } catch (error) {
      // Journaled and not begun: the next start of the worker reports it.
      log('error', 'a run could not be started', { jobId: command.jobId, why: messageOf(error) });
    }
  }

  private work(command: Command): void {
    const { commandId } = command;
    const { journal, results, onChange, log } = this.options;
    const done = this.perform(command)
      .catch((error: unknown): Result => ({ status: 'failed', error: messageOf(error) }))
      .then((result) => {
        results.put(commandId, result, originOf(command));
        journal.finish(commandId);
        const isRestart = command.kind === 'repair' || command.kind === 'restart';
        if (isRestart && result.status === 'success') this.options.onRestart(commandId);
      })
      .catch((error: unknown) => log('error', 'a result could not be kept', { commandId, why: messageOf(error) }))
      .finally(() => {
        this.working.delete(commandId);
        onChange();
      });
    this.working.set(commandId, done);
    onChange();
  }

  private async perform(command: Command): Promise<Result> {
    const { folder } = this.options;
    const { commandId, kind, payload } = command;
    switch (kind) {
      case 'snippet':
      case 'function':
      case 'imaging_images':
      case 'imaging_composite':
        return runCode(command, join(folder, 'commands', commandId), false, this.options.context);
      case 'builder':
        return this.runSession(command);
      case 'stop_job':
        return this.stopJob(command);
      case 'script':
        return keepScript(folder, payload);
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

  private async stopJob(command: Command): Promise<Result> {
    const { payload } = command;
    const graceMs = typeof payload.graceMs === 'number' ? Math.min(Math.max(0, payload.graceMs), 10 * 60_000) : 5_000;
    const error = textOf(payload.reason) || 'the job was cancelled';
    const remaining = await this.options.runs.stopJob(stoppedBy(command), { status: 'cancelled', error, graceMs });
    if (!remaining) return { status: 'success', output: { remaining } };
    return { status: 'failed', output: { remaining }, error: `${remaining} processes could not be killed` };
  }
}

function stoppedBy({ jobId, payload }: Command): string {
  return textOf(payload.jobId) || jobId || '';
}

/** A folder for each session of the builder, kept: its sources tell what ran. */
function sessionRoot(folder: string, { commandId, payload }: Command): string {
  const asked = textOf(payload.runRoot);
  return join(folder, /^builder\/[A-Za-z0-9][\w-]{0,99}$/.test(asked) ? asked : `builder/${commandId}`);
}

function keepScript(folder: string, { action, filename, script }: Record<string, unknown>): Result {
  if (action !== 'push') return { status: 'failed', error: 'only the action push is for a worker' };
  const parts = textOf(filename).split('/');
  const bad = parts.some((part) => !/^[^\0\\/]{1,200}$/.test(part) || part.startsWith('.'));
  if (bad || parts.length > 16) return { status: 'failed', error: 'the filename leads outside the scripts folder' };
  if (typeof script !== 'string') return { status: 'failed', error: 'there is no script' };
  const path = join(folder, 'scripts', ...parts);
  for (let at = dirname(path); at.startsWith(join(folder, 'scripts')); at = dirname(at)) {
    if (existsSync(at) && !lstatSync(at).isDirectory()) return { status: 'failed', error: 'a link is in the way' };
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeWhole(path, script);
  return { status: 'success', output: { filename: parts.join('/'), path, sha256: sha256(script) } };
}
