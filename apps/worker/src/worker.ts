import type { RunErrorCode } from '@muster/contracts';
import { randomUUID } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BundleCache } from './bundles/bundle-cache';
import { Extensions } from './browser/extensions';
import { CommandExecutor } from './command-executor';
import { detectCapabilities } from './host/capabilities';
import { lockFolder } from './host/folder-lock';
import { BootOver, performHandshake } from './protocol/handshake';
import { Health } from './host/health';
import { Fence, Heartbeat } from './protocol/heartbeat';
import { Journal } from './runs/journal';
import { Keys, replaceKey } from './host/keys';
import { startListener, type Listener } from './protocol/listener';
import type { LocalLog } from './host/local-log';
import { MachineMetrics } from './host/machine';
import { PollLoop } from './protocol/poll-loop';
import { Recorder } from './recordings/recorder';
import { Sessions } from './sessions/sessions';
import { Results } from './spool/results';
import type { Ending } from './runs/ends/ending';
import type { RunContext } from './runs/run';
import { sendOutput } from './runs/live-output';
import { Runs } from './runs/runs';
import { Service } from './protocol/service';
import type { Settings } from './settings';
import { findPushUrl } from './protocol/tunnel';

/** How the worker ends: with an exit code, or with an immediate restart. */
export type Outcome = { exitCode: number } | 'restart';

const lastDeliveryMs = 10_000;
const leaseMs = 60_000;
const commandsTaken = [
  ...['run', 'snippet', 'function', 'builder', 'script', 'stop_job', 'repair', 'restart'],
  ...['autopilot', 'files'],
];
const createFailedEnding = (errorCode: RunErrorCode, error: string): Ending => ({
  status: 'failed',
  errorCode,
  error,
  graceMs: 3_000,
});

/**
 * Outcomes of a boot that the service has ended. A machine that still runs, as after hibernation, starts a new boot.
 */
const afterBoot: Record<BootOver['end'], [Outcome, Ending | null]> = {
  ended: ['restart', null],
  superseded: [{ exitCode: 3 }, createFailedEnding('worker_stopped', 'another worker took over')],
  terminated: [{ exitCode: 3 }, createFailedEnding('agent_not_ready', 'the agent was terminated')],
};

/** One start of the worker, from the handshake to its end. */
export class Worker {
  private readonly bootId = randomUUID();
  /** Aborted first when the worker ends. After that, it accepts no more commands and sends no more heartbeats. */
  private readonly stopping = new AbortController();
  /** Aborted last when the worker ends. After that, it sends no more requests. */
  private readonly ended = new AbortController();
  private readonly keys: Keys;
  private readonly context: RunContext;
  private readonly journal: Journal;
  private readonly results: Results;
  private readonly recorder: Recorder;
  private readonly sessions: Sessions;
  private readonly runs: Runs;
  private readonly commands: CommandExecutor;
  private readonly fence: Fence;
  private readonly began = Date.now();
  /** Capabilities of this machine. They are determined once, in parallel with the rest of the start. */
  private readonly machine: ReturnType<typeof detectCapabilities>;
  private heartbeat: Heartbeat | null = null;
  private polling: PollLoop | null = null;
  private end: { outcome: Outcome; ending: Ending | null } = { outcome: 'restart', ending: null };

  constructor(
    private readonly settings: Settings,
    private readonly log: LocalLog,
  ) {
    const { folder, agentId, baseUrl, scriptBase, python, spoolLimitBytes, bundleCacheBytes, fenceMs } = settings;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    lockFolder(folder);
    this.machine = detectCapabilities(settings);
    this.keys = new Keys(settings);
    const service = new Service(baseUrl, () => this.keys.currentKey, this.ended.signal);
    const facts = {
      baseUrl,
      apiKey: this.keys.currentKey,
      agentId,
      organizationId: '',
      signingSecret: '',
      scriptBase,
      folder,
    };
    const bundles = new BundleCache({ folder, limitBytes: bundleCacheBytes, baseUrl, log });
    this.context = { facts, python, spoolLimitBytes, service, bundles, log };
    this.fence = new Fence(fenceMs);
    this.journal = new Journal(folder);
    this.results = new Results(folder, agentId, log);
    const machine = { folder, agentId, base: scriptBase, service };
    const extensions = new Extensions({ ...machine, stopping: this.stopping.signal });
    this.recorder = new Recorder({ ...machine, extensions });
    this.sessions = new Sessions({ ...machine, python, extensions, stopping: this.ended.signal, log });
    const onChange = (): void => this.heartbeat?.sendSoon();
    this.runs = new Runs(folder, this.journal, this.context, onChange);
    this.commands = new CommandExecutor({
      folder,
      journal: this.journal,
      runs: this.runs,
      results: this.results,
      recorder: this.recorder,
      sessions: this.sessions,
      extensions,
      context: {
        ...{ facts, python, bundles, stopping: this.stopping.signal, folder, imaging: settings.imaging },
        sendOutput: (commandId, output) => sendOutput(service, { agentId, commandId, output }),
      },
      onChange,
      repair: (command) => replaceKey({ keys: this.keys, service, agentId }, command, this.stopping.signal),
      onRestart: (commandId) => void this.restartWithNewKey(commandId),
      secrets: () => this.listSecrets(),
      log,
    });
  }

  /** Returns the values that must be redacted in the local log. */
  listSecrets(): string[] {
    const { PRACTICE_DATABASE: practiceDatabase } = this.settings.imaging.variables;
    return [...this.keys.listKeys(), this.context.facts.signingSecret, ...(practiceDatabase ? [practiceDatabase] : [])];
  }

  async runUntilStopped(): Promise<Outcome> {
    const guard = setInterval(() => this.checkFenceAndLease(), Math.min(1_000, this.settings.fenceMs / 4));
    this.runs.recoverRuns();
    await this.commands.recoverCommands();
    await this.sessions.recoverSessions();
    const listener = await this.openListener();
    try {
      await this.startWork(listener && findPushUrl(this.settings, listener.address));
    } catch (error) {
      if (!this.stopping.signal.aborted) throw error;
    } finally {
      clearInterval(guard);
      listener?.close();
    }
    await this.endWork();
    this.ended.abort();
    this.journal.close();
    return this.end.outcome;
  }

  /**
   * Ends the worker. If it is called several times, the first reason counts. `ending` describes how a run ends; with
   * null, the run continues for the next worker.
   */
  stop(
    reason: string,
    outcome: Outcome = { exitCode: 0 },
    ending: Ending | null = createFailedEnding('worker_stopped', 'the worker was stopped'),
  ) {
    if (this.stopping.signal.aborted) return;
    this.log('info', 'the worker is stopping', { why: reason });
    this.end = { outcome, ending };
    this.commands.close();
    this.stopping.abort();
  }

  private async startWork(tunnel: string | null): Promise<void> {
    const { service, facts } = this.context;
    const { agentId } = facts;
    const { log } = this;
    const heartbeatMs = await this.performHandshakes(tunnel);

    this.results.startSending(service);
    this.runs.startDelivering();
    this.polling = new PollLoop(
      {
        service,
        agentId,
        isPushed: () => tunnel !== null && this.heartbeat?.tunnelFails !== true,
        take: (command) => this.commands.takeCommand(command),
        reject: (commandId, reason) => this.commands.rejectCommand(commandId, reason),
        log,
      },
      this.stopping.signal,
    );
    this.heartbeat = new Heartbeat(
      {
        service,
        agentId,
        bootId: this.bootId,
        tunnel,
        everyMs: heartbeatMs,
        metrics: new MachineMetrics(this.settings.folder),
        health: new Health(this.settings, () => this.polling?.getSilentMs() ?? 0),
        running: () => ({ jobIds: this.runs.listJobIds(), active: this.runs.isBusy || this.commands.isWorking }),
        onAnswered: () => this.fence.renewFence(),
        onPending: () => this.polling?.pollSoon(),
        onAbandon: (jobId) => void this.runs.abandonRun(jobId),
        onUnknown: async () => void (await this.performHandshakes(tunnel)),
        log,
      },
      this.stopping.signal,
    );
    await Promise.all([this.heartbeat.sendRegularly(), this.polling.pollUntilStopped()]);
  }

  /** Makes the handshake. Returns the interval of heartbeats that the service requests. */
  private async performHandshakes(tunnel: string | null): Promise<number> {
    const { service, facts } = this.context;
    const { agentId } = facts;
    const { bootId, keys, log } = this;
    const machineCapabilities = await this.machine;
    const canImage = machineCapabilities.some(({ name, available }) => name === 'pillow' && available);
    const introduction = {
      ...{ agentId, bootId, tunnel, keys, log, machineCapabilities },
      capabilities: canImage ? [...commandsTaken, 'imaging'] : commandsTaken,
    };
    try {
      const { organizationId, signingSecret, heartbeatMs } = await performHandshake(
        service,
        introduction,
        this.stopping.signal,
      );
      Object.assign(facts, { organizationId, signingSecret, apiKey: keys.currentKey });
      this.fence.renewFence();
      log('info', 'the service accepted the handshake', { agentId, organizationId, bootId, tunnel });
      return heartbeatMs;
    } catch (error) {
      if (error instanceof BootOver) this.stop(error.message, ...afterBoot[error.end]);
      throw error;
    }
  }

  private async openListener(): Promise<Listener | null> {
    const { listen: at, agentId } = this.settings;
    if (!at) return null;
    return startListener(at, {
      agentId,
      signingSecret: () => this.context.facts.signingSecret || null,
      take: (command) => this.commands.takeCommand(command),
    });
  }

  /**
   * Ends the run if the service has not been reached for too long, and ends the worker if the lease file is too old.
   * Called at an interval.
   */
  private checkFenceAndLease(): void {
    const { fenceMs, leaseFile } = this.settings;
    if (this.runs.isBusy && this.fence.isLost) {
      // The service may have assigned this job to another worker, and two workers must not work on the same claim.
      void this.runs.stopAllRuns(
        createFailedEnding(
          'service_unreachable',
          `the run was stopped because the service was unreachable for ${fenceMs} ms`,
        ),
      );
    }
    if (leaseFile && Date.now() - (readModifiedMs(leaseFile) ?? this.began) > leaseMs) {
      this.stop(
        'the lease file is no longer updated',
        { exitCode: 4 },
        createFailedEnding('worker_stopped', 'the worker was stopped because the service no longer supervises it'),
      );
    }
  }

  private async endWork(): Promise<void> {
    const { ending } = this.end;
    if (ending) await Promise.all([this.runs.stopAllRuns(ending), this.sessions.endAll()]);
    else this.sessions.detachAll();
    await this.commands.waitUntilFinished();
    this.recorder.close();
    const isIntroduced = this.context.facts.signingSecret !== '';
    if (ending && isIntroduced) {
      const all = Promise.all([this.runs.waitUntilDelivered(), this.results.waitUntilAllSent()]);
      await Promise.race([all, sleep(lastDeliveryMs, undefined, { ref: false })]);
    }
    await this.runs.detachAll();
  }

  private async restartWithNewKey(commandId: string): Promise<void> {
    // The result is sent with the old key if it is still valid, or else after the restart with the new key.
    await Promise.race([this.results.waitUntilSent(commandId), sleep(lastDeliveryMs / 2, undefined, { ref: false })]);
    this.stop('a restart was requested', 'restart', null);
  }
}

function readModifiedMs(path: string): number | null {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return null;
  }
}
