import { closeSync, openSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Asks, filesForPeople, readReceivedCodes } from './asks';
import { parseBundle, NothingToRun } from '../bundles/bundle';
import type { BundleCache } from '../bundles/bundle-cache';
import { findMainFile, unpackBundleIntoRun } from '../bundles/unpack-bundle-into-run';
import { toPositiveNumberOrNull, toStringOrEmpty, type Command } from '../protocol/command';
import { readJson, writeAtomically } from '../host/files';
import { launchScript, readExitCode } from '../host/launcher';
import type { LocalLog } from '../host/local-log';
import { buildFailedEnding, type Ending, describeExit } from './ends/ending';
import { describeFailure } from './ends/describe-failure';
import { readRemainingOutput } from './ends/read-remaining-output';
import { findProcesses, isAlive, killProcesses, readEnvironment, readProcess, signalProcesses } from './processes';
import type { Grace, Marker } from './processes';
import type { KnownSecrets } from './redactor';
import { collectInputs, createRunFolder } from './run-files';
import { readResult, RunOutput } from './run-output';
import { getOrigin } from '../protocol/origin';
import { createFirstState } from './run-state';
import { closeOpenSteps, toProgressItem } from './script-events';
import { buildScriptEnvironment, collectSecrets, listSecretNames, type WorkerFacts } from './script-environment';
import type { Service } from '../protocol/service';
import { closeTemporaryFolder, openTemporaryFolder } from '../host/short-folder';
import { Spool } from '../spool/spool';
import type { Item, LastReport } from '../spool/spool-item';

export interface RunContext {
  facts: WorkerFacts;
  python: string;
  service: Service;
  spoolLimitBytes: number;
  bundles: BundleCache;
  log: LocalLog;
}

interface RunRecord {
  root: Marker['root'];
  startedAt: number;
  maxRuntimeMs: number | null;
  secretNames: string[];
  /** Names of variables whose values may be about a patient; absent in the record of an older worker. */
  sensitiveNames?: string[];
  ending?: Ending;
}

const tickMs = 100;
const heartbeatMs = 30_000;
const leftoverGraceMs = 2_000;
const largestResultBytes = 256 * 1024;
const defaultMaxRuntimeMs = 12 * 3600_000;

/** One run of a script, from its folder to its final report. Its state is on disk, so a new worker can take it over. */
export class Run {
  /** Resolves when the run's end is in the spool, to the number of processes that could not be killed. */
  readonly concluded: Promise<number>;
  private ending: Ending | undefined;
  /** Shared by all stops of the run, so that a later stop may shorten the grace period of the first. */
  private readonly grace: Grace = {};
  private detached = false;
  private isUnreadable = false;
  private stopped = false;
  private readonly wake = new AbortController();
  private lastHeartbeat = Date.now();
  private readonly asks: Asks;

  private constructor(
    readonly commandId: string,
    readonly spool: Spool,
    private readonly record: RunRecord,
    private readonly secrets: KnownSecrets,
    private readonly context: RunContext,
    prepare: (run: Run) => Promise<void>,
  ) {
    this.ending = record.ending;
    this.asks = new Asks(this.root, this.jobId, { ...context, secrets });
    this.concluded = this.runUntilEnd(prepare);
  }

  get jobId(): string {
    return this.spool.state.jobId;
  }

  static startRun(command: Command, runRoot: string, spoolFolder: string, context: RunContext): Run {
    const { commandId, payload } = command;
    const state = createFirstState(command.jobId!, runRoot, getOrigin(command));
    const spool = Spool.createSpool(spoolFolder, state);
    spool.appendItems([{ kind: 'webhook', body: { status: 'running', seq: 1 } }], { ...state, callbackSeq: 1 });
    const record: RunRecord = {
      root: null,
      startedAt: Date.now(),
      maxRuntimeMs: toPositiveNumberOrNull(payload.maxRuntimeMs),
      secretNames: listSecretNames(command),
      sensitiveNames: Array.isArray(payload.sensitiveNames) ? payload.sensitiveNames.map(String) : [],
    };
    const env = buildScriptEnvironment(command, context.facts, runRoot);
    const secrets = collectSecrets(record, env);
    return new Run(commandId, spool, record, secrets, context, (run) => run.launchScript(command, env));
  }

  /** Takes over a run that another worker started. A run without any process left is reported as failed. */
  static adoptRun(commandId: string, spool: Spool, context: RunContext): Run {
    const record = readJson<RunRecord>(join(spool.state.runRoot, 'run.json')) ?? {
      root: null,
      startedAt: Date.now(),
      maxRuntimeMs: null,
      secretNames: [],
    };
    // The worker died after it had launched the script and before it had saved that. The launcher is the oldest process
    // of the run.
    record.root ??= findProcesses({ runId: commandId, root: null }).sort((a, b) => a.pid - b.pid)[0] ?? null;
    if (record.root && !isAlive(record.root)) record.root = null;
    const env = record.root ? readEnvironment(record.root.pid) : {};
    const secrets = collectSecrets(record, env, readReceivedCodes(spool.state.runRoot));
    const run = new Run(commandId, spool, record, secrets, context, () => Promise.resolve());
    // Without the launcher's environment the secrets are unknown, so output that is still unread must stay unread.
    run.isUnreadable = record.root === null;
    signalProcesses(run.marker, 'SIGCONT');
    return run;
  }

  redactText(text: string): string {
    return this.secrets.redactor.redactText(text);
  }

  /** Stores the answer to one of the run's questions. */
  deliverAnswer(payload: Record<string, unknown>): void {
    this.asks.deliverAnswer(payload);
  }

  /**
   * Ends the run. If it is called several times, the first reason counts. Resolves when the run's processes are killed
   * and its end is in the spool.
   */
  stopRun(ending: Ending): Promise<number> {
    this.grace.until = Math.min(this.grace.until ?? Infinity, Date.now() + ending.graceMs);
    if (!this.ending) {
      this.ending = ending;
      this.saveState();
      this.wake.abort();
    }
    return this.concluded;
  }

  get isSilent(): boolean {
    return this.ending?.status === 'silent';
  }

  /** Stops watching the run, which keeps running for the next worker. */
  detachFromProcess(): void {
    this.detached = true;
    this.wake.abort();
  }

  get isDetached(): boolean {
    return this.detached;
  }

  private get marker(): Marker {
    return { runId: this.commandId, root: this.record.root };
  }

  private get root(): string {
    return this.spool.state.runRoot;
  }

  private async runUntilEnd(prepare: (run: Run) => Promise<void>): Promise<number> {
    // The run starts in a later task, so that the constructor has returned before any callback is called.
    await Promise.resolve();
    try {
      await prepare(this);
    } catch (error) {
      this.ending ??= buildFailedEnding(error, 'run_not_started');
    }
    const output = new RunOutput(this.root, this.spool, this.secrets);
    try {
      await this.watchOutput(output);
    } catch (error) {
      // A run that is not watched must end: nothing would read its output or stop it.
      this.ending ??= buildFailedEnding(error, 'worker_failed');
    }
    this.asks.stopWaiting();
    if (this.detached) return 0;
    return this.concludeRun(output);
  }

  private async watchOutput(output: RunOutput): Promise<void> {
    while (!this.ending && !this.detached) {
      const alive = this.record.root !== null && isAlive(this.record.root);
      const ended = this.readOwnExitCode() !== null || !alive;
      if (this.isUnreadable) break;
      this.asks.findNewQuestions();
      const more = this.readNewOutput(output);
      if (ended) break;
      this.ending ??= this.checkDeadline();
      this.sendHeartbeat();
      await this.waitOrWake(more ? 1 : tickMs);
    }
  }

  private async launchScript(command: Command, env: Record<string, string>): Promise<void> {
    const { python } = this.context;
    const inputs = collectInputs(command, this.record.secretNames);
    createRunFolder(this.root, { script: toStringOrEmpty(command.payload.script), inputs });
    const script = await this.placeRunBundle(command);
    if (this.ending || this.detached) return;
    const [stdout, stderr] = ['stdout.log', 'stderr.log'].map((name) => openSync(join(this.root, name), 'a', 0o600));
    try {
      const child = launchScript({
        python,
        exitFile: join(this.root, 'exit-code'),
        script,
        cwd: this.root,
        env: { ...env, TMPDIR: openTemporaryFolder(this.root) },
        stdout: stdout!,
        stderr: stderr!,
      });
      await once(child, 'spawn');
      child.unref();
      this.record.root = readProcess(child.pid!);
      this.record.startedAt = Date.now();
      this.saveState();
    } finally {
      closeSync(stdout!);
      closeSync(stderr!);
    }
  }

  /** Unpacks the run's bundle. Returns the file to start: the workflow's script; without one, the bundle's main.py. */
  private async placeRunBundle({ payload }: Command): Promise<string> {
    const script = join(this.root, 'script.py');
    const bundle = parseBundle(payload);
    if (!bundle) return script;
    await unpackBundleIntoRun(this.context.bundles, bundle, { root: this.root, stop: this.wake.signal });
    if (toStringOrEmpty(payload.script).trim()) return script;
    const main = findMainFile(this.root);
    if (!main) throw new NothingToRun('the workflow has no script, and the bundle has no main.py');
    return main;
  }

  /** Reads some output. Returns whether more output can be read immediately. */
  private readNewOutput(output: RunOutput): boolean {
    const limit = this.context.spoolLimitBytes;
    const full = this.spool.bytes > (this.stopped ? limit / 2 : limit);
    // Reads only a few pieces at a time, so that the work of the worker's other tasks is not delayed.
    let more = !full;
    for (let pieces = 0; more && pieces < 8; pieces += 1) more = output.readNewOutput(false, Date.now());
    const tooLong = output.countReadBytes() > limit / 4 || (full && output.countUnreadBytes() > limit / 4);
    if (!this.stopped && tooLong) {
      // Writing to a file never blocks the script, so its processes are stopped instead.
      signalProcesses(this.marker, 'SIGSTOP');
      this.stopped = true;
    } else if (this.stopped && !full && !more) {
      output.removeReadPart();
      signalProcesses(this.marker, 'SIGCONT');
      this.stopped = false;
    }
    return more;
  }

  private checkDeadline(): Ending | undefined {
    const limit = this.record.maxRuntimeMs ?? defaultMaxRuntimeMs;
    if (Date.now() - this.record.startedAt <= limit) return undefined;
    const error = `the run exceeded its maximum runtime of ${limit} ms`;
    return { status: 'failed', error, errorCode: 'execution_timeout', graceMs: 5_000 };
  }

  private sendHeartbeat(): void {
    if (Date.now() - this.lastHeartbeat < heartbeatMs) return;
    this.lastHeartbeat = Date.now();
    // No heartbeat is added while earlier reports wait for delivery, because each of them also shows that the run is
    // alive.
    if (!this.spool.isStreamDrained('events')) return;
    const state = { ...this.spool.state };
    this.spool.appendItems([toProgressItem(state)], state);
  }

  private async concludeRun(output: RunOutput): Promise<number> {
    const remaining = await killProcesses(this.marker, this.ending?.graceMs ?? leftoverGraceMs, this.grace);
    if (!this.isSilent) {
      const { spoolLimitBytes } = this.context;
      const failure = this.isUnreadable ? undefined : await readRemainingOutput(output, this.spool, spoolLimitBytes);
      this.ending ??= failure;
      const unread = this.isUnreadable ? output.countUnreadBytes() : 0;
      if (unread > 0) {
        const reason = `the last ${unread} bytes of output: after a restart the worker no longer knows which secrets they may contain`;
        this.spool.recordMissingItem({ kind: 'report', reason });
      }
      const body = this.buildFinalReport(output);
      const state = { ...this.spool.state };
      const items: Item[] = closeOpenSteps(state, body.status === 'completed', Date.now());
      state.callbackSeq += 1;
      items.push({ kind: 'terminal', body: { ...body, seq: state.callbackSeq } });
      this.spool.appendItems(items, { ...state, ended: true });
    }
    closeTemporaryFolder(this.root);
    // The script's raw output may contain secrets. The part that was sent is redacted.
    for (const name of ['stdout.log', 'stderr.log', 'events.jsonl', 'tmp', ...filesForPeople]) {
      rmSync(join(this.root, name), { recursive: true, force: true });
    }
    return remaining;
  }

  private buildFinalReport(output: RunOutput): LastReport {
    const code = this.readOwnExitCode();
    const result = readResult(this.spool.folder);
    const resultField: Pick<LastReport, 'result'> =
      result === undefined || !this.isResultSmallEnough(result) ? {} : { result };
    if (this.ending && this.ending.status !== 'silent') {
      const { graceMs: _, ...ending } = this.ending;
      return { ...ending, error: this.secrets.redactor.redactText(ending.error), ...resultField };
    }
    if (code === 0) return { status: 'completed', ...resultField };
    const { reason, errorCode } = describeExit(code, this.record.root !== null);
    return {
      status: 'failed',
      error: describeFailure(reason, this.isUnreadable ? '' : output.readLastErrors()),
      errorCode: this.spool.state.errorCode ?? errorCode,
      ...resultField,
    };
  }

  private isResultSmallEnough(result: unknown): boolean {
    const isSmall = Buffer.byteLength(JSON.stringify(result)) <= largestResultBytes;
    if (!isSmall) {
      const reason = `the run’s result has more than ${largestResultBytes} bytes`;
      this.spool.recordMissingItem({ kind: 'result', reason });
    }
    return isSmall;
  }

  private readOwnExitCode(): number | null {
    return readExitCode(join(this.root, 'exit-code'));
  }

  private saveState(): void {
    try {
      writeAtomically(join(this.root, 'run.json'), JSON.stringify({ ...this.record, ending: this.ending }));
    } catch {
      // The folder does not exist yet, so there is no process that a new worker could adopt.
    }
  }

  private async waitOrWake(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.wake.signal }).catch(() => undefined);
  }
}
