import { Inject, Injectable } from '@nestjs/common';
import type { AgentStatus } from '@muster/contracts';
import { type AgentEntity, Database } from '@muster/database';
import { Clock, nilId, Round } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';
import { carryOutOrder } from './carry-out-order';
import { recoverAgent } from '../recovery/recover-agent';
import { inSql, passingStatuses } from '../lifecycle/agent-life';
import { moveAgent } from '../lifecycle/move-agent';
import { type MachineParts, wakeMachine } from './wake-machine';

const atOnce = 200;
const forgottenMs = 5 * 60_000;

interface Candidate {
  id: string;
  /** To the microsecond, which a Date does not have. */
  at: string;
  status?: AgentStatus;
}

const first: Candidate = { id: nilId, at: '-infinity' };

interface Failure {
  error: unknown;
  at: number;
  told: boolean;
}

/** Talks to the provider of an agent's machine, outside of every transaction. */
@Injectable()
export class MachineControl {
  private readonly parts: MachineParts;
  private readonly working = new Map<string, Promise<void>>();
  /** Rows whose last try failed here in a way that nobody expected. */
  private readonly unsettled = new Map<string, Failure>();

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
   * care. It does not wait for providers: one that hangs holds up its own machines alone. So what fails is told by the
   * round after that, and a round begins no more than a page of each kind, behind that of the round before.
   */
  async sweep(round = new Round('sweep machines')): Promise<Record<'wakes' | 'orders' | 'lost', number>> {
    this.tellFailures(round);
    const [wakes, orders, lost] = await Promise.all([
      this.begin(round, 'wakes', (after, limit) => this.dueWakes(after, limit), {
        rowOf: ({ id }) => `wake ${id}`,
        work: ({ id }) => this.wake(id),
      }),
      this.begin(round, 'orders', (after, limit) => this.dueOrders(after, limit), {
        rowOf: ({ id }) => `agent ${id}`,
        work: ({ id }) => this.control(id),
      }),
      this.begin(round, 'lost', (after, limit) => this.lostAgents(after, limit), {
        rowOf: ({ id }) => `agent ${id}`,
        work: ({ id, status }) => (status === 'starting' ? this.abandonStart(id) : this.control(id)),
      }),
    ]);
    return { wakes, orders, lost };
  }

  /** Until what was begun is done. */
  async settled(): Promise<void> {
    await Promise.all(this.working.values());
    this.tellFailures(new Round('sweep machines'));
  }

  private async begin(
    round: Round,
    kind: string,
    candidates: (after: Candidate, limit: number) => Promise<Candidate[]>,
    { rowOf, work }: { rowOf(one: Candidate): string; work(one: Candidate): Promise<void> },
  ): Promise<number> {
    const room = atOnce - this.working.size;
    if (room <= 0) return 0;
    const after = (round.cursors.get(kind) as Candidate | undefined) ?? first;
    const page = await candidates(after, room);
    if (page.length < room) round.cursors.delete(kind);
    else round.cursors.set(kind, page.at(-1));
    for (const one of page) {
      if (this.working.has(one.id)) continue;
      const row = rowOf(one);
      const done = work(one)
        .then(() => void this.unsettled.delete(row))
        // One bad row never stops the rest; it comes again.
        .catch((error: unknown) => void this.unsettled.set(row, { error, at: performance.now(), told: false }))
        .finally(() => this.working.delete(one.id));
      this.working.set(one.id, done);
    }
    return page.length;
  }

  private tellFailures(round: Round): void {
    for (const [row, failure] of this.unsettled) {
      if (!failure.told) round.fail(row, failure.error);
      // What is not tried again here for so long, another process has settled.
      else if (performance.now() - failure.at > forgottenMs) this.unsettled.delete(row);
      else round.untried.add(row);
      failure.told = true;
    }
  }

  private dueWakes({ at, id }: Candidate, limit: number): Promise<Candidate[]> {
    return this.database.query<Candidate & object>(
      'system',
      `SELECT id, next_try_at::text AS at FROM agent_wake
       WHERE state = 'open' AND next_try_at <= muster_now() AND (next_try_at, id) > ($1::timestamptz, $2::uuid)
       ORDER BY next_try_at, id LIMIT $3`,
      [at, id, limit],
      'sweep_wakes',
    );
  }

  private dueOrders({ at, id }: Candidate, limit: number): Promise<Candidate[]> {
    return this.database.query<Candidate & object>(
      'system',
      `SELECT agent_id AS id, next_try_at::text AS at FROM agent_control
       WHERE next_try_at <= muster_now() AND (next_try_at, agent_id) > ($1::timestamptz, $2::uuid)
       ORDER BY next_try_at, agent_id LIMIT $3`,
      [at, id, limit],
      'sweep_controls',
    );
  }

  private lostAgents({ at, id }: Candidate, limit: number): Promise<Candidate[]> {
    return this.database.query<Candidate & object>(
      'system',
      `SELECT a.id, a.status, a.status_since::text AS at FROM agent a
       WHERE a.status IN ${inSql(passingStatuses)} AND a.status_since < muster_now() - interval '10 seconds'
         AND (a.status_since, a.id) > ($1::timestamptz, $2::uuid)
         AND NOT EXISTS (SELECT FROM agent_wake w WHERE w.agent_id = a.id AND w.state = 'open')
         AND NOT EXISTS (SELECT FROM agent_control c WHERE c.agent_id = a.id AND a.status <> 'starting')
       ORDER BY a.status_since, a.id LIMIT $3`,
      [at, id, limit],
      'sweep_lost',
    );
  }

  /** Nobody wakes it any more, so it is not starting. */
  private async abandonStart(agentId: string): Promise<void> {
    await this.database.transaction('system', async (tx) => {
      const [agent] = await tx.query<Pick<AgentEntity, 'organizationId'>>(
        'SELECT organization_id FROM agent WHERE id = $1 FOR UPDATE',
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
