import type { AgentCommand, AgentCommandList } from '@muster/contracts';
import { backoffMs } from './backoff';
import { clockAheadMs, isObject, readCommand, type Command } from './command';
import type { Taking } from './listener';
import type { LocalLog } from '../host/local-log';
import { type Fields, messageOf, verdictOf, type Service } from './service';
import { rest } from '../host/waiting';

const longPollSeconds = 25;
const safetyNetMs = 30_000;
const busyMs = 1_000;
const atOnceMs = 500;

export interface PollOptions {
  service: Service;
  agentId: string;
  /** Whether pushes reach us: then polling is only a net below them, and need not insist. */
  isPushed: () => boolean;
  take: (command: Command) => Taking;
  /** A command that nobody can run here is answered, or it would be offered for ever. */
  reject: (commandId: string, why: string) => void;
  log: LocalLog;
}

/**
 * Fetches commands from the service, and always waits there for the next one: where a tunnel fails, nobody knows before
 * a command was lost in it.
 */
export class PollLoop {
  private nudged = new AbortController();
  private answeredAt = performance.now();

  constructor(
    private readonly options: PollOptions,
    private readonly stopping: AbortSignal,
  ) {}

  /** Commands wait: look now. */
  nudge(): void {
    this.nudged.abort();
  }

  /** How long no poll has been answered. */
  silentMs(): number {
    return performance.now() - this.answeredAt;
  }

  async run(): Promise<void> {
    const { isPushed, log } = this.options;
    for (let failures = 0; !this.stopping.aborted;) {
      this.nudged = new AbortController();
      let restMs = 0;
      const began = performance.now();
      try {
        const outcome = await this.poll(longPollSeconds);
        failures = 0;
        this.answeredAt = performance.now();
        // What was offered and couldn't be taken is offered again at once.
        if (outcome === 'stuck') restMs = busyMs;
        // A service that holds as many polls as it can lets nobody wait.
        const sentAway = outcome === 'nothing' && performance.now() - began < atOnceMs;
        if (sentAway) restMs = isPushed() ? safetyNetMs : busyMs;
      } catch (error) {
        if (this.stopping.aborted) return;
        failures += 1;
        if (failures === 1) log('warn', 'could not poll for commands; trying again', { why: messageOf(error) });
        restMs = backoffMs(failures);
      }
      if (restMs) await this.pause(restMs, failures > 0);
    }
  }

  /** Stuck: something could not be taken. */
  private async poll(wait: number): Promise<'nothing' | 'taken' | 'stuck'> {
    const { service, agentId, take, reject, log } = this.options;
    const path = `/api/agents/${agentId}/commands`;
    const timeoutMs = (wait + 15) * 1000;
    // What is offered while we end is offered again: only an acknowledgement takes it.
    const until = this.stopping;
    const call = { method: 'GET', path: `${path}?wait=${wait}`, timeoutMs, until } as const;
    const { status, body, serviceMs } = await service.call<AgentCommandList>(call);
    const aheadMs = clockAheadMs(serviceMs, Date.now());
    if (verdictOf(status) !== 'delivered') throw new Error(`the service returned status ${status}`);
    let stuck = false;
    const commands = Array.isArray(body.commands) ? (body.commands as unknown[]) : [];
    for (const offered of commands) {
      const command = readCommand(offered, agentId, aheadMs);
      if (typeof command === 'string') {
        log('error', 'rejected a command that is not valid', { why: command });
        stuck = true;
        const named: Fields<AgentCommand> = isObject(offered) ? offered : {};
        const { commandId } = named;
        if (named.agentId === agentId && typeof commandId === 'string') reject(commandId, command);
        continue;
      }
      const taking = take(command);
      if (taking === 'busy' || taking === 'stopping') {
        stuck = true;
        continue;
      }
      const ack = await service.call({ method: 'POST', path: `${path}/${command.commandId}/ack`, text: '{}' });
      if (verdictOf(ack.status) !== 'delivered') stuck = true;
    }
    if (stuck) return 'stuck';
    return commands.length ? 'taken' : 'nothing';
  }

  private async pause(ms: number, ignoringNudges: boolean): Promise<void> {
    await rest(ms, this.stopping, ...(ignoringNudges ? [] : [this.nudged.signal]));
  }
}
