import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HeartbeatAnswer, HeartbeatBody } from '@muster/contracts';
import { computeBackoffMs } from './backoff';
import type { Health } from '../host/health';
import type { LocalLog } from '../host/local-log';
import { findMachineIp, workerVersion, type MachineMetrics } from '../host/machine';
import { getErrorMessage, serializeBody, classifyStatus, type Service } from './service';
import { waitUnlessAborted } from '../host/waiting';

export interface HeartbeatOptions {
  service: Service;
  agentId: string;
  bootId: string;
  tunnel: string | null;
  everyMs: number;
  metrics: MachineMetrics;
  health: Pick<Health, 'listProblems'>;
  /** Returns the jobs whose end the service has not received, and whether a run or a command is active. */
  running: () => { jobIds: string[]; active: boolean };
  onAnswered: () => void;
  onPending: () => void;
  onAbandon: (jobId: string) => void;
  /** Called when the service requires a handshake of this boot. */
  onUnknown: () => Promise<void>;
  log: LocalLog;
}

const maxJobIds = 100;

/** Reports that the worker is alive and which jobs it runs: at an interval, and at once when the jobs change. */
export class Heartbeat {
  private changed = new AbortController();
  private wasActive = false;
  private wasUnhealthy = false;
  /** Whether the service reports that its pushes do not reach this worker. */
  tunnelFails = false;

  constructor(
    private readonly options: HeartbeatOptions,
    private readonly stopping: AbortSignal,
  ) {}

  sendSoon(): void {
    if (this.options.running().active) this.wasActive = true;
    this.changed.abort();
  }

  async sendRegularly(): Promise<void> {
    const { everyMs, log } = this.options;
    for (let failures = 0; !this.stopping.aborted;) {
      this.changed = new AbortController();
      let restMs = everyMs;
      try {
        await this.sendHeartbeat();
        failures = 0;
      } catch (error) {
        if (this.stopping.aborted) return;
        failures += 1;
        if (failures === 1) log('warn', 'could not send a heartbeat; trying again', { why: getErrorMessage(error) });
        restMs = Math.min(everyMs, computeBackoffMs(failures));
      }
      await waitUnlessAborted(restMs, this.stopping, this.changed.signal);
      // One heartbeat reports all changes within 20 ms.
      if (!this.stopping.aborted) await sleep(20);
    }
  }

  private async sendHeartbeat(): Promise<void> {
    const { service, agentId, bootId, tunnel, metrics, health, running, log } = this.options;
    const problems = health.listProblems();
    if (problems.length && !this.wasUnhealthy) log('error', 'this worker is unhealthy', { problems });
    this.wasUnhealthy = problems.length > 0;
    const { jobIds, active } = running();
    const vmIp = findMachineIp();
    const text = serializeBody<HeartbeatBody>({
      agentId,
      bootId,
      tunnelHostname: tunnel || undefined,
      vmState: 'running',
      vmIp: vmIp || undefined,
      workerVersion,
      healthy: problems.length === 0,
      activity: active || this.wasActive,
      runningJobIds: jobIds.slice(0, maxJobIds),
      metrics: { ...(await metrics.readMetrics()), ...(problems.length ? { problems } : {}) },
    });
    this.wasActive = false;
    const call = { method: 'POST', path: '/api/agent/heartbeat', text, timeoutMs: 10_000 } as const;
    const answer = await service.callService<HeartbeatAnswer>(call);
    const { pendingCommands, abandon } = answer.body;
    if (answer.status === 409) {
      await this.options.onUnknown();
      return;
    }
    if (classifyStatus(answer.status) !== 'delivered') throw new Error(`the service returned status ${answer.status}`);
    this.options.onAnswered();
    const { tunnel: state } = answer.body;
    if (state === 'unreachable' && !this.tunnelFails)
      log('warn', 'the service cannot push commands to this worker; polling for them', { tunnel });
    this.tunnelFails = state === 'unreachable';
    for (const jobId of Array.isArray(abandon) ? abandon.map(String) : []) this.options.onAbandon(jobId);
    if (Number(pendingCommands) > 0) this.options.onPending();
  }
}

/**
 * Detects that the worker has not reached the service for `limitMs` milliseconds. Uses the monotonic clock, which does
 * not change if the system time is set.
 */
export class Fence {
  private last = performance.now();

  constructor(private readonly limitMs: number) {}

  renewFence(): void {
    this.last = performance.now();
  }

  get isLost(): boolean {
    return performance.now() - this.last > this.limitMs;
  }
}
