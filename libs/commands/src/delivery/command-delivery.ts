import { listSecretsForAgent, signText, signatureHeader } from '@muster/access';
import type { AgentCommand, CommandKind } from '@muster/contracts';
import { type AgentCommandEntity, Database } from '@muster/database';
import {
  BaseConfig,
  Clock,
  Outbound,
  OutboundFailed,
  OutboundRefused,
  getOwnAddress,
  PubSub,
  Round,
  sweepRows,
  type SweepCounts,
} from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import { isOnStatus, markTunnelUnreachable } from '@muster/machines';
import {
  commandColumns,
  type CommandRow,
  nextPushAfterLease,
  type PushFacts,
  pushColumns,
  type DeliveryOutcome,
  pushAloneMs,
} from '../command/command-row';
import { composeDeliveries, describeMissingSecrets, enqueueDispatchForLostSecret } from './compose-delivery';
import { DeliverySpan } from './delivery-span';
import { failCommand } from '../ends/fail-commands';
import { AcknowledgedCommands } from './acknowledged-commands';

/** A command that the caller has leased. No other process pushes the command until the lease ends. */
export interface ClaimedCommand extends CommandRow, PushFacts, Pick<AgentCommandEntity, 'pushes'> {
  isDue: boolean;
}
type Leased = ClaimedCommand;

/**
 * Commands that repair a worker. They are pushed even to an offline agent, because a push is signed and so needs no
 * valid worker key.
 */
const repairKinds: readonly CommandKind[] = ['repair', 'restart'];
const sealedError = 'its secrets cannot be decrypted';
const pushBatchSize = 100;
const pushTimeoutMs = 10_000;
const firstBackoffMs = 500;
const maxBackoffMs = 5000;
/** HTTP status codes that the proxy of a tunnel returns if no worker is connected to the tunnel. */
const proxyErrorStatuses = new Set([404, 410, 421, 502, 504, 520, 521, 522, 523, 524, 525, 526, 530]);

/** Delivers commands to agents by pushing them through the agents' tunnels. */
@Injectable()
export class CommandDelivery implements BeforeApplicationShutdown {
  private readonly logger = new Logger(CommandDelivery.name);
  private readonly acknowledged: AcknowledgedCommands;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Outbound) private readonly outbound: Outbound,
    @Inject(PubSub) private readonly pubSub: PubSub,
    @Inject(BaseConfig) private readonly config: BaseConfig,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    this.acknowledged = new AcknowledgedCommands(database, pubSub);
  }

  /** Writes the pending acknowledgements. Nest calls this before the database connection closes. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.acknowledged.flushAndStop();
  }

  async deliverCommand(commandId: string): Promise<DeliveryOutcome> {
    const [leased] = await this.leaseDueCommands('c.id = $2', [commandId]);
    if (leased) return this.pushLeasedCommand(leased);
    const [waiting] = await this.database.query(
      'system',
      `SELECT id FROM agent_command WHERE id = $1 AND status = 'pending' AND taken_at IS NULL`,
      [commandId],
    );
    return waiting ? 'not due' : 'over';
  }

  /**
   * Pushes all due commands. A push can take seconds, so one statement leases a page of commands by postponing their
   * next push. No other process pushes the leased commands, and the next page contains different ones.
   */
  deliverDueCommands(round = new Round('push commands')): Promise<SweepCounts<'taken' | 'postponed' | 'ended'>> {
    return sweepRows(round, {
      name: 'commands',
      outcomes: ['taken', 'postponed', 'ended'],
      limit: pushBatchSize,
      atOnce: pushBatchSize,
      candidates: (_after: Leased | null, limit) => this.leaseDueCommands('true', [], limit),
      settle: async (command) => {
        const outcome = await this.pushLeasedCommand(command);
        if (outcome === 'sealed') throw new Error(sealedError);
        if (outcome === 'taken' || outcome === 'known') return 'taken';
        return outcome === 'over' || outcome === 'secret_missing' ? 'ended' : 'postponed';
      },
      rowOf: ({ id }) => `command ${id}`,
    });
  }

  /** Leases due commands by postponing their next push. The lease lasts longer than a push can take. */
  private leaseDueCommands(condition: string, values: unknown[], limit = 1): Promise<Leased[]> {
    // A crash can lose the lease, because the write does not wait for the disk. The command is then pushed once more,
    // and the worker recognizes its id.
    return this.database.queryUnflushed<Leased>(
      'system',
      `UPDATE agent_command c SET next_push_at = ${nextPushAfterLease}, pushes = c.pushes + 1
       FROM agent a
       WHERE a.id = c.agent_id AND c.id IN (
         SELECT c.id FROM agent_command c
         WHERE c.next_push_at <= muster_now() AND c.status = 'pending' AND c.taken_at IS NULL AND ${condition}
         ORDER BY c.next_push_at LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING ${commandColumns}, c.pushes, c.deadline > muster_now() AS is_due, ${pushColumns}`,
      [limit, ...values],
      condition === 'true' ? 'claim_due_commands' : 'claim_command',
    );
  }

  /** Pushes a command that the caller has leased, for example by `issueRunCommand`. */
  async pushLeasedCommand(command: Leased): Promise<DeliveryOutcome> {
    const span = new DeliverySpan(command);
    try {
      const outcome = await this.pushIfStillDue(command);
      span.recordSpan(outcome);
      return outcome;
    } catch (error) {
      span.recordSpan('failed');
      throw error;
    }
  }

  private async pushIfStillDue(command: Leased): Promise<DeliveryOutcome> {
    if (!command.isDue) return this.endDeliveryOfCommand(command);
    const isRepair = command.agentStatus === 'offline' && repairKinds.includes(command.kind);
    if (!isOnStatus(command.agentStatus) && !isRepair) {
      return this.postponePush(command, 'unreachable', maxBackoffMs, `the agent is ${command.agentStatus}`);
    }
    if (!command.tunnelUrl || command.tunnelUrl === command.unreachableTunnel) {
      this.pubSub.publish('command', [command.agentId]);
      return this.postponePush(command, 'left to the poll', maxBackoffMs, null);
    }
    const serviceUrl = this.config.publicAppUrl ?? command.serviceUrl ?? getOwnAddress(this.config);
    const { workerKeys } = command;
    const parts = { database: this.database, keyRing: this.keyRing, storage: this.storage, serviceUrl, workerKeys };
    const [composed] = await composeDeliveries(parts, [command]).catch((error: Error) => {
      this.logger.error(`could not compose command ${command.id}`, { err: error });
      return [null];
    });
    if (!composed) return this.postponePush(command, 'sealed', maxBackoffMs, sealedError);
    if (!('command' in composed)) return this.handleMissingSecrets(command, composed.missing);
    return this.sendCommandToWorker(command, composed.command);
  }

  private async sendCommandToWorker(command: Leased, wire: AgentCommand): Promise<DeliveryOutcome> {
    const body = JSON.stringify(wire);
    const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(command.pushes - 1, 10));
    // A tunnel may accept the push and never answer. In case the worker is also polling, its waiting poll is notified
    // shortly after the push.
    const late = setTimeout(() => this.pubSub.publish('command', [command.agentId]), pushAloneMs + 50);
    try {
      const { status } = await this.outbound.fetchBounded({
        url: `${command.tunnelUrl}/commands`,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(command.requestId ? { 'x-request-id': command.requestId } : {}),
          ...(wire.env['TRACEPARENT'] ? { traceparent: wire.env['TRACEPARENT'] } : {}),
          [signatureHeader]: signText(listSecretsForAgent(this.keyRing, command), body, this.clock.now()),
        },
        body,
        timeoutMs: pushTimeoutMs,
        namedFrom: command.seenFrom,
      });
      if (status === 202 || status === 200) {
        await this.acknowledged.recordAcknowledged(command);
        return status === 202 ? 'taken' : 'known';
      }
      if (status === 409) return await this.postponePush(command, 'busy', backoffMs, 'the worker is busy');
      return await this.leaveCommandToPolling(command, `the worker answered ${status}`, proxyErrorStatuses.has(status));
    } catch (error) {
      if (!(error instanceof OutboundFailed || error instanceof OutboundRefused)) throw error;
      return await this.leaveCommandToPolling(command, error.message, true);
    } finally {
      clearTimeout(late);
    }
  }

  /**
   * Postpones the push and notifies a waiting poll of the worker. If no worker is connected to the tunnel, the tunnel
   * is not used again until the agent's next boot.
   */
  private async leaveCommandToPolling(command: Leased, reason: string, deadEnd: boolean): Promise<DeliveryOutcome> {
    const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(command.pushes - 1, 10));
    if (deadEnd) await markTunnelUnreachable(this.database, command);
    const outcome = await this.postponePush(command, 'unreachable', backoffMs, reason);
    this.pubSub.publish('command', [command.agentId]);
    return outcome;
  }

  /** Schedules the next push, unless a result or an acknowledgement has arrived since the command was leased. */
  private async postponePush(
    command: Leased,
    outcome: DeliveryOutcome,
    delayMs: number,
    pushError: string | null,
  ): Promise<DeliveryOutcome> {
    await this.database.query(
      { organizationId: command.organizationId },
      `UPDATE agent_command SET next_push_at = muster_now() + $2 * interval '1 millisecond', push_error = $3,
         pushes = CASE WHEN $4 THEN pushes ELSE 0 END
       WHERE id = $1 AND status = 'pending' AND taken_at IS NULL`,
      [command.id, delayMs, pushError, isOnStatus(command.agentStatus)],
      'command_postponed',
    );
    return outcome;
  }

  private async handleMissingSecrets(command: Leased, missing: string[]): Promise<DeliveryOutcome> {
    if (command.kind === 'run') {
      await enqueueDispatchForLostSecret(this.database, command);
      return this.postponePush(command, 'secret_missing', maxBackoffMs, describeMissingSecrets(missing));
    }
    await failCommand(this.database, command, { code: 'secret_missing', error: describeMissingSecrets(missing) });
    return 'secret_missing';
  }

  /**
   * Ends the delivery of a command past its deadline. A run command is not failed but only no longer pushed, because
   * its job decides how the run ends.
   */
  private async endDeliveryOfCommand(command: Leased): Promise<DeliveryOutcome> {
    if (command.kind !== 'run') {
      const error = 'The agent did not accept the command in time.';
      await failCommand(this.database, command, { code: 'execution_timeout', error });
      return 'over';
    }
    await this.database.query(
      { organizationId: command.organizationId },
      'UPDATE agent_command SET next_push_at = NULL WHERE id = $1',
      [command.id],
      'command_given_up',
    );
    return 'over';
  }
}
