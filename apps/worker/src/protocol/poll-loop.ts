import type { AgentCommand, AgentCommandList } from '@muster/contracts';
import { computeBackoffMs } from './backoff';
import { computeClockAheadMs, isObject, parseCommand, type Command } from './command';
import type { OfferOutcome } from './listener';
import type { LocalLog } from '../host/local-log';
import { type Fields, getErrorMessage, classifyStatus, type Service } from './service';
import { waitUnlessAborted } from '../host/waiting';

const longPollSeconds = 25;
const safetyNetMs = 30_000;
const busyMs = 1_000;
const atOnceMs = 500;

export interface PollOptions {
  service: Service;
  agentId: string;
  /**
   * Whether commands that the service pushes reach this worker. If they do, polling is only a fallback, and the worker
   * pauses between polls.
   */
  isPushed: () => boolean;
  take: (command: Command) => OfferOutcome;
  /** Answers a command that cannot run here; otherwise the service would offer it for ever. */
  reject: (commandId: string, reason: string) => void;
  log: LocalLog;
}

/**
 * Fetches commands from the service by long polling, even while pushes arrive. A failed tunnel is noticed only after a
 * pushed command was lost; polling fetches that command.
 */
export class PollLoop {
  private nudged = new AbortController();
  private answeredAt = performance.now();

  constructor(
    private readonly options: PollOptions,
    private readonly stopping: AbortSignal,
  ) {}

  /** Polls now, because commands are pending. */
  pollSoon(): void {
    this.nudged.abort();
  }

  /** Milliseconds since the last answer to a poll. */
  getSilentMs(): number {
    return performance.now() - this.answeredAt;
  }

  async pollUntilStopped(): Promise<void> {
    const { isPushed, log } = this.options;
    for (let failures = 0; !this.stopping.aborted;) {
      this.nudged = new AbortController();
      let restMs = 0;
      const began = performance.now();
      try {
        const outcome = await this.pollOnce(longPollSeconds);
        failures = 0;
        this.answeredAt = performance.now();
        // The next poll would return the same command at once, because the service offers it until it is acknowledged.
        if (outcome === 'stuck') restMs = busyMs;
        // A service that holds its maximum number of open polls answers further polls immediately.
        const sentAway = outcome === 'nothing' && performance.now() - began < atOnceMs;
        if (sentAway) restMs = isPushed() ? safetyNetMs : busyMs;
      } catch (error) {
        if (this.stopping.aborted) return;
        failures += 1;
        if (failures === 1) log('warn', 'could not poll for commands; trying again', { why: getErrorMessage(error) });
        restMs = computeBackoffMs(failures);
      }
      if (restMs) await this.waitBeforePoll(restMs, failures > 0);
    }
  }

  /** Returns `stuck` if a command is invalid, or could not be accepted or acknowledged. */
  private async pollOnce(wait: number): Promise<'nothing' | 'taken' | 'stuck'> {
    const { service, agentId, take, reject, log } = this.options;
    const path = `/api/agents/${agentId}/commands`;
    const timeoutMs = (wait + 15) * 1000;
    // Aborting the poll loses no command: the service offers a command again until it is acknowledged.
    const until = this.stopping;
    const call = { method: 'GET', path: `${path}?wait=${wait}`, timeoutMs, until } as const;
    const { status, body, serviceMs } = await service.callService<AgentCommandList>(call);
    const aheadMs = computeClockAheadMs(serviceMs, Date.now());
    if (classifyStatus(status) !== 'delivered') throw new Error(`the service returned status ${status}`);
    let stuck = false;
    const commands = Array.isArray(body.commands) ? (body.commands as unknown[]) : [];
    for (const offered of commands) {
      const command = parseCommand(offered, agentId, aheadMs);
      if (typeof command === 'string') {
        log('error', 'rejected a command that is not valid', { why: command });
        stuck = true;
        const named: Fields<AgentCommand> = isObject(offered) ? offered : {};
        const { commandId } = named;
        if (named.agentId === agentId && typeof commandId === 'string') reject(commandId, command);
        continue;
      }
      const offerOutcome = take(command);
      if (offerOutcome === 'busy' || offerOutcome === 'stopping') {
        stuck = true;
        continue;
      }
      const ack = await service.callService({ method: 'POST', path: `${path}/${command.commandId}/ack`, text: '{}' });
      if (classifyStatus(ack.status) !== 'delivered') stuck = true;
    }
    if (stuck) return 'stuck';
    return commands.length ? 'taken' : 'nothing';
  }

  private async waitBeforePoll(ms: number, ignoringNudges: boolean): Promise<void> {
    await waitUnlessAborted(ms, this.stopping, ...(ignoringNudges ? [] : [this.nudged.signal]));
  }
}
