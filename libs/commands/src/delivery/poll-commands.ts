import { type AgentCommand, AppError, agentNotFoundError } from '@muster/contracts';
import { type AgentEntity, Database } from '@muster/database';
import { BaseConfig, PubSub, getPublicAddress, RecoveryHold } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { machineRefusedError } from '@muster/machines';
import { CommandsConfig } from '../commands.config';
import { commandColumns, type CommandRow, pushAloneMs } from '../command/command-row';
import {
  type Composed,
  composeDeliveries,
  describeMissingSecrets,
  enqueueDispatchForLostSecret,
} from './compose-delivery';
import { DeliverySpan } from './delivery-span';
import { failCommand } from '../ends/fail-commands';

const pollIntervalMs = 2000;
const batchSize = 20;

/** Delivers commands to workers that poll, and lets a worker wait for its next command. */
@Injectable()
export class CommandPolls implements OnApplicationShutdown {
  private readonly logger = new Logger(CommandPolls.name);
  private readonly waiting = new Map<string, Set<() => void>>();
  private count = 0;
  private readonly countOf = new Map<string, number>();
  private stopListening?: () => void;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(PubSub) private readonly pubSub: PubSub,
    @Inject(BaseConfig) private readonly config: BaseConfig,
    @Inject(CommandsConfig) private readonly limits: CommandsConfig,
    @Inject(RecoveryHold) private readonly hold: RecoveryHold,
  ) {}

  /**
   * Returns the agent's unacknowledged commands, oldest first. If there are none, waits for a command until the wait
   * time has passed or the signal `ended` aborts.
   */
  async pollCommands(
    organizationId: string,
    agentId: string,
    waitMs: number,
    ended: AbortSignal,
  ): Promise<AgentCommand[]> {
    if (waitMs > 0) this.requirePollSlot(organizationId);
    await this.requireExistingAgent(organizationId, agentId);
    const until = performance.now() + (this.count < this.limits.commandPollsMax ? waitMs : 0);
    this.count += 1;
    this.countOf.set(organizationId, (this.countOf.get(organizationId) ?? 0) + 1);
    try {
      for (;;) {
        // The subscription starts before the read, so that a command that is inserted during the read is noticed.
        const listening = this.listenForCommands(agentId);
        try {
          const commands = this.hold.isHeld ? [] : await this.readDueCommands(organizationId, agentId, waitMs > 0);
          const leftMs = until - performance.now();
          if (commands.length > 0 || leftMs <= 0 || ended.aborted) return commands;
          await listening.wait(Math.min(leftMs, pollIntervalMs), ended);
        } finally {
          listening.end();
        }
      }
    } finally {
      this.count -= 1;
      const left = this.countOf.get(organizationId)! - 1;
      if (left > 0) this.countOf.set(organizationId, left);
      else this.countOf.delete(organizationId);
    }
  }

  onApplicationShutdown(): void {
    this.stopListening?.();
  }

  /** Throws if the organization has too many waiting polls, so that the workers of other organizations can wait too. */
  private requirePollSlot(organizationId: string): void {
    const max = this.limits.commandPollsMaxPerOrganization;
    if ((this.countOf.get(organizationId) ?? 0) < max) return;
    throw new AppError('rate_limited', {
      detail: `Too many workers of the organization are waiting for commands (at most ${max}); try again in a few seconds.`,
      headers: { 'retry-after': '5' },
    });
  }

  private async requireExistingAgent(organizationId: string, agentId: string): Promise<void> {
    const [agent] = await this.database.query<Pick<AgentEntity, 'status'>>(
      { organizationId },
      'SELECT status FROM agent WHERE id = $1 AND organization_id = $2',
      [agentId, organizationId],
      'agent_status',
    );
    if (!agent) throw agentNotFoundError();
    if (agent.status === 'terminated')
      throw machineRefusedError(
        'The agent is terminated. Stop this worker, or install it for another agent.',
        agent.status,
      );
  }

  private async readDueCommands(organizationId: string, agentId: string, afterPush: boolean): Promise<AgentCommand[]> {
    const rows = await this.database.query<CommandRow>(
      { organizationId },
      `SELECT ${commandColumns} FROM agent_command c
       WHERE c.agent_id = $1 AND c.organization_id = $2 AND c.status = 'pending' AND c.taken_at IS NULL
         AND c.deadline > muster_now()
         AND (NOT $3 OR c.push_error IS NOT NULL OR c.created_at < muster_now() - $4 * interval '1 millisecond' OR EXISTS (
           SELECT FROM agent a WHERE a.id = c.agent_id AND (COALESCE(a.public_tunnel_url, a.tunnel_url) IS NULL
             OR a.unreachable_tunnel = COALESCE(a.public_tunnel_url, a.tunnel_url))))
       ORDER BY c.id LIMIT ${batchSize}`,
      [agentId, organizationId, afterPush, pushAloneMs],
      'poll_commands',
    );
    if (rows.length === 0) return [];
    const commands: AgentCommand[] = [];
    const spans = new Map(rows.map((row) => [row.id, new DeliverySpan(row)]));
    for (const composed of await this.composeCommands(rows)) {
      if ('command' in composed) {
        commands.push(composed.command);
        spans.get(composed.command.commandId)!.recordSpan('polled');
      } else if (composed.kind === 'run')
        await enqueueDispatchForLostSecret(this.database, { organizationId, agentId });
      else {
        const error = describeMissingSecrets(composed.missing);
        await failCommand(this.database, { id: composed.id, organizationId }, { code: 'secret_missing', error });
      }
    }
    return commands;
  }

  /**
   * Builds all commands together. If that fails, builds each command separately, so that a command whose secrets cannot
   * be decrypted does not block the others.
   */
  private async composeCommands(rows: CommandRow[]): Promise<Composed[]> {
    const { database, keyRing, storage } = this;
    const parts = { database, keyRing, storage, serviceUrl: getPublicAddress(this.config) };
    try {
      return await composeDeliveries(parts, rows);
    } catch (error) {
      if (rows.length === 1) {
        this.logger.error(`could not compose command ${rows[0]!.id}`, { err: error });
        return [];
      }
      return (await Promise.all(rows.map((row) => this.composeCommands([row])))).flat();
    }
  }

  private listenForCommands(agentId: string) {
    this.stopListening ??= this.pubSub.subscribe('command', (id) => {
      for (const wake of this.waiting.get(id) ?? []) wake();
    });
    let wake!: () => void;
    const notified = new Promise<void>((resolve) => (wake = resolve));
    const wakers = this.waiting.get(agentId) ?? new Set();
    this.waiting.set(agentId, wakers.add(wake));
    return {
      wait: async (timeoutMs: number, ended: AbortSignal) => {
        const timer = setTimeout(wake, timeoutMs);
        ended.addEventListener('abort', wake);
        await notified;
        clearTimeout(timer);
        ended.removeEventListener('abort', wake);
      },
      end: () => {
        wakers.delete(wake);
        if (wakers.size === 0 && this.waiting.get(agentId) === wakers) this.waiting.delete(agentId);
      },
    };
  }
}
