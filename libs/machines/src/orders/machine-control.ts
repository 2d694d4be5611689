import { Inject, Injectable } from '@nestjs/common';
import type { AgentStatus } from '@muster/contracts';
import { type AgentEntity, Database } from '@muster/database';
import { Clock, firstCursor, Round, type TimedCursor } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';
import { executeOrder } from './execute-order';
import { statusListSql, passingStatuses } from '../life/agent-life';
import { setAgentStatus } from '../life/set-agent-status';
import { type MachineParts, wakeMachine } from './wake-machine';

const maxConcurrent = 200;
const forgottenMs = 5 * 60_000;

interface Candidate extends TimedCursor {
  status?: AgentStatus;
}

interface Failure {
  error: unknown;
  at: number;
  reported: boolean;
}

/**
 * Executes wakes and orders by calls to the providers of the machines. No call is made within a database
 * transaction.
 */
@Injectable()
export class MachineControl {
  private readonly parts: MachineParts;
  private readonly working = new Map<string, Promise<void>>();
  /** The last unexpected error of each wake or order that failed in this process. */
  private readonly failures = new Map<string, Failure>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Machines) machines: Machines,
    @Inject(KeyRing) keyRing: KeyRing,
    @Inject(Clock) clock: Clock,
    @Inject(VmConfig) private readonly config: VmConfig,
  ) {
    this.parts = { database, machines, keyRing, clock };
  }

  /** Makes one attempt to wake a machine. */
  async attemptWake(wakeId: string): Promise<void> {
    await wakeMachine(this.parts, wakeId);
  }

  /** Executes the order that follows from the agent's status: stopping, rebooting or terminated. */
  executeOrder(agentId: string): Promise<void> {
    const { wakeTimeoutMs: rebootTimeoutMs, stopTimeoutMs } = this.config;
    return executeOrder(this.parts, agentId, { rebootTimeoutMs, stopTimeoutMs });
  }

  /**
   * Starts all due work: wakes and orders whose next attempt is due, and agents that are starting, stopping or
   * rebooting without a wake or an order. The sweep does not wait for providers, so a provider that hangs delays only
   * its own machines. For this reason failures are reported by the next round. Each round starts at most one page of
   * each kind of work and continues after the page of the previous round.
   */
  async startAllDueWork(round = new Round('sweep machines')): Promise<Record<'wakes' | 'orders' | 'lost', number>> {
    this.reportFailures(round);
    const [wakes, orders, lost] = await Promise.all([
      this.startDueWork(round, 'wakes', (after, limit) => this.findDueWakes(after, limit), {
        rowOf: ({ id }) => `wake ${id}`,
        work: ({ id }) => this.attemptWake(id),
      }),
      this.startDueWork(round, 'orders', (after, limit) => this.findDueOrders(after, limit), {
        rowOf: ({ id }) => `agent ${id}`,
        work: ({ id }) => this.executeOrder(id),
      }),
      this.startDueWork(round, 'lost', (after, limit) => this.findLostAgents(after, limit), {
        rowOf: ({ id }) => `agent ${id}`,
        work: ({ id, status }) => (status === 'starting' ? this.abandonStartOfAgent(id) : this.executeOrder(id)),
      }),
    ]);
    return { wakes, orders, lost };
  }

  /** Waits until all wakes and orders that this process has started have ended. */
  async waitUntilIdle(): Promise<void> {
    await Promise.all(this.working.values());
    this.reportFailures(new Round('sweep machines'));
  }

  private async startDueWork(
    round: Round,
    kind: string,
    candidates: (after: Candidate, limit: number) => Promise<Candidate[]>,
    { rowOf, work }: { rowOf(one: Candidate): string; work(one: Candidate): Promise<void> },
  ): Promise<number> {
    const room = maxConcurrent - this.working.size;
    if (room <= 0) return 0;
    const after = (round.cursors.get(kind) as Candidate | undefined) ?? firstCursor;
    const page = await candidates(after, room);
    if (page.length < room) round.cursors.delete(kind);
    else round.cursors.set(kind, page.at(-1));
    for (const one of page) {
      if (this.working.has(one.id)) continue;
      const row = rowOf(one);
      const done = work(one)
        .then(() => void this.failures.delete(row))
        // A row that fails is tried again later and does not stop the other rows.
        .catch((error: unknown) => void this.failures.set(row, { error, at: performance.now(), reported: false }))
        .finally(() => this.working.delete(one.id));
      this.working.set(one.id, done);
    }
    return page.length;
  }

  private reportFailures(round: Round): void {
    for (const [row, failure] of this.failures) {
      if (!failure.reported) round.recordFailure(row, failure.error);
      // If this process has not tried the wake or order again for five minutes, another process has processed it.
      else if (performance.now() - failure.at > forgottenMs) this.failures.delete(row);
      else round.untried.add(row);
      failure.reported = true;
    }
  }

  private findDueWakes({ at, id }: Candidate, limit: number): Promise<Candidate[]> {
    return this.database.query<Candidate & object>(
      'system',
      `SELECT id, next_try_at::text AS at FROM agent_wake
       WHERE state = 'open' AND next_try_at <= muster_now() AND (next_try_at, id) > ($1::timestamptz, $2::uuid)
       ORDER BY next_try_at, id LIMIT $3`,
      [at, id, limit],
      'sweep_wakes',
    );
  }

  private findDueOrders({ at, id }: Candidate, limit: number): Promise<Candidate[]> {
    return this.database.query<Candidate & object>(
      'system',
      `SELECT agent_id AS id, next_try_at::text AS at FROM agent_control
       WHERE next_try_at <= muster_now() AND (next_try_at, agent_id) > ($1::timestamptz, $2::uuid)
       ORDER BY next_try_at, agent_id LIMIT $3`,
      [at, id, limit],
      'sweep_controls',
    );
  }

  private findLostAgents({ at, id }: Candidate, limit: number): Promise<Candidate[]> {
    return this.database.query<Candidate & object>(
      'system',
      `SELECT a.id, a.status, a.status_since::text AS at FROM agent a
       WHERE a.status IN ${statusListSql(passingStatuses)} AND a.status_since < muster_now() - interval '10 seconds'
         AND (a.status_since, a.id) > ($1::timestamptz, $2::uuid)
         AND NOT EXISTS (SELECT FROM agent_wake w WHERE w.agent_id = a.id AND w.state = 'open')
         AND NOT EXISTS (SELECT FROM agent_control c WHERE c.agent_id = a.id AND a.status <> 'starting')
       ORDER BY a.status_since, a.id LIMIT $3`,
      [at, id, limit],
      'sweep_lost',
    );
  }

  /** Moves a starting agent that has no open wake to offline. */
  private async abandonStartOfAgent(agentId: string): Promise<void> {
    await this.database.transaction('system', async (tx) => {
      const [agent] = await tx.query<Pick<AgentEntity, 'organizationId'>>(
        'SELECT organization_id FROM agent WHERE id = $1 FOR UPDATE',
        [agentId],
      );
      // The agent stays locked until the end of the transaction, so that no other process can open a wake.
      const wakes = await tx.query(`SELECT FROM agent_wake WHERE agent_id = $1 AND state = 'open'`, [agentId]);
      if (!agent || wakes.length > 0) return;
      const { organizationId } = agent;
      const reason = 'it had no open wake any more';
      await setAgentStatus(tx, {
        organizationId,
        agentId,
        move: 'wake_lost',
        to: 'offline',
        source: 'watchdog',
        reason,
      });
      await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
    });
  }
}
