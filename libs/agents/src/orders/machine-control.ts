import { Inject, Injectable, Logger } from '@nestjs/common';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';
import { carryOutOrder } from './carry-out-order';
import { recoverAgent } from '../recovery/recover-agent';
import { inSql, passingStatuses } from '../lifecycle/agent-life';
import { moveAgent } from '../lifecycle/move-agent';
import { type MachineParts, wakeMachine } from '../lifecycle/wake-machine';

const atOnce = 200;

/** Talks to the provider of an agent's machine, outside of every transaction. */
@Injectable()
export class MachineControl {
  private readonly logger = new Logger(MachineControl.name);
  private readonly parts: MachineParts;
  private readonly working = new Map<string, Promise<void>>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Machines) machines: Machines,
    @Inject(KeyRing) keyRing: KeyRing,
    @Inject(Clock) clock: Clock,
    @Inject(VmConfig) private readonly config: VmConfig,
  ) {
    this.parts = { database, machines, keyRing, clock };
  }

  /** One try of an open wake. */
  async wake(wakeId: string): Promise<void> {
    await wakeMachine(this.parts, wakeId);
  }

  /** One attempt to make a worker well that says that it is not, if it is time for one. */
  async recover(agentId: string): Promise<void> {
    await recoverAgent(this.parts, agentId);
  }

  /** Does what the agent's status asks of its machine: stopping, rebooting, terminated. */
  control(agentId: string): Promise<void> {
    const { wakeTimeoutMs: rebootTimeoutMs, stopTimeoutMs } = this.config;
    return carryOutOrder(this.parts, agentId, { rebootTimeoutMs, stopTimeoutMs });
  }

  /**
   * Begins what is due: wakes and orders whose next try has come, and agents between two states of which nobody takes
   * care. It does not wait for providers: one that hangs holds up its own machines alone.
   */
  async sweep(): Promise<{ wakes: number; orders: number; lost: number }> {
    const room = atOnce - this.working.size;
    if (room <= 0) return { wakes: 0, orders: 0, lost: 0 };
    const [wakes, orders, lost] = await Promise.all([
      this.database.query<{ id: string }>(
        'system',
        `SELECT id FROM agent_wake WHERE state = 'open' AND next_try_at <= now() ORDER BY next_try_at LIMIT $1`,
        [room],
        'sweep_wakes',
      ),
      this.database.query<{ id: string }>(
        'system',
        'SELECT agent_id AS id FROM agent_control WHERE next_try_at <= now() ORDER BY next_try_at LIMIT $1',
        [room],
        'sweep_controls',
      ),
      this.lostAgents(room),
    ]);
    for (const { id } of wakes) this.begin(id, () => this.wake(id));
    for (const { id } of orders) this.begin(id, () => this.control(id));
    for (const { id, status } of lost) {
      this.begin(id, () => (status === 'starting' ? this.abandonStart(id) : this.control(id)));
    }
    return { wakes: wakes.length, orders: orders.length, lost: lost.length };
  }

  /** Until what was begun is done. */
  async settled(): Promise<void> {
    await Promise.all(this.working.values());
  }

  private begin(id: string, work: () => Promise<void>): void {
    if (this.working.has(id)) return;
    const done = work()
      // One bad row never stops the rest; it comes again.
      .catch((error: Error) => this.logger.warn(`${id}: ${error.message}`))
      .finally(() => this.working.delete(id));
    this.working.set(id, done);
  }

  private lostAgents(limit: number): Promise<{ id: string; status: string }[]> {
    return this.database.query(
      'system',
      `SELECT a.id, a.status FROM agent a
       WHERE a.status IN ${inSql(passingStatuses)} AND a.status_since < now() - interval '10 seconds'
         AND NOT EXISTS (SELECT FROM agent_wake w WHERE w.agent_id = a.id AND w.state = 'open')
         AND NOT EXISTS (SELECT FROM agent_control c WHERE c.agent_id = a.id AND a.status <> 'starting')
       ORDER BY a.status_since LIMIT $1`,
      [limit],
      'sweep_lost',
    );
  }

  /** Nobody wakes it any more, so it is not starting. */
  private async abandonStart(agentId: string): Promise<void> {
    await this.database.transaction('system', async (tx) => {
      const [agent] = await tx.query<{ organizationId: string }>(
        'SELECT organization_id AS "organizationId" FROM agent WHERE id = $1 FOR UPDATE',
        [agentId],
      );
      // Under the lock nobody begins another one.
      const wakes = await tx.query(`SELECT FROM agent_wake WHERE agent_id = $1 AND state = 'open'`, [agentId]);
      if (!agent || wakes.length > 0) return;
      const { organizationId } = agent;
      const reason = 'nothing was waking it any more';
      await moveAgent(tx, {
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
