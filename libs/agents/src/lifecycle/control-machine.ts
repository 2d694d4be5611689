import type { AgentStatus, LifecycleEvent, LifecycleSource } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { Logger } from '@nestjs/common';
import {
  type Machine,
  type MachineDescription,
  MachineError,
  type MachineProvider,
  type MachineState,
} from '@muster/vm';
import { revokeAgentKeys } from '../agent-keys';
import { appendTimeline } from '../timeline/append-timeline';
import { holdLease, leaseMs } from './hold-lease';
import { describeWithin, machineColumns, machineOf, type MachineRow } from './machine-of';
import { moveAgent } from './move-agent';
import type { MachineParts } from './wake-machine';
import { cancelWake } from './wakes';

/** One step of what an agent's status asks of its machine: stopping, rebooting, terminated. */
export async function controlMachine(parts: MachineParts, agentId: string, limits: ControlLimits): Promise<void> {
  const order = await parts.database.transaction('system', (tx) => claim(tx, agentId));
  if (!order) return;
  switch (order.status) {
    case 'stopping':
      return stop(parts, order, limits);
    case 'rebooting':
      return reboot(parts, order, limits);
    case 'terminated':
      return terminate(parts, order);
    default:
      return beginAsDescribed(parts, order);
  }
}

export interface ControlLimits {
  /** A rebooted machine has to report by then. */
  rebootTimeoutMs: number;
  /** A machine that does not stop by then is called offline, for all to see. */
  stopTimeoutMs: number;
}

interface Order extends MachineRow {
  /** How long the agent has been in this status. */
  forMs: number;
  /** How long ago the provider took the order; null: not yet. */
  issuedAgoMs: number | null;
  attempt: number;
  error: string | null;
  statusSource: LifecycleSource;
  neverSeen: boolean;
  drain: string | null;
}

const ordered = ['stopping', 'rebooting', 'terminated'];
/** A stop that was taken and shows no effect is ordered again. */
const repeatStopMs = 60_000;
const describeLimitMs = 5000;
/** A machine that spoke so recently is taken to be there still. */
const heardLatelySeconds = 90;
const logger = new Logger('machines');

/** Takes the agent's order for as long as a try may last; null where there is none, or somebody is at it. */
async function claim(tx: Transaction, agentId: string): Promise<Order | null> {
  const [agent] = await tx.query<Omit<Order, 'issuedAgoMs' | 'attempt' | 'error'>>(
    `SELECT ${machineColumns}, extract(epoch FROM now() - a.status_since)::float8 * 1000 AS "forMs",
            a.status_source AS "statusSource", a.last_seen IS NULL AND a.vm_state IS NULL AS "neverSeen", a.drain
     FROM agent a WHERE a.id = $1 FOR UPDATE`,
    [agentId],
    'control_agent',
  );
  if (!agent) return null;
  if (!ordered.includes(agent.status)) {
    await tx.execute('DELETE FROM agent_control WHERE agent_id = $1', [agentId]);
    const isNew = agent.neverSeen && agent.status === 'stopped' && agent.provider !== 'local';
    return isNew ? { ...agent, issuedAgoMs: null, attempt: 1, error: null } : null;
  }
  const [order] = await tx.query<{ issuedAgoMs: number | null; attempt: number; error: string | null }>(
    `INSERT INTO agent_control AS c (agent_id, organization_id, status, status_since, attempt, next_try_at)
     SELECT id, organization_id, status, status_since, 1, now() + $2 * interval '1 millisecond'
     FROM agent WHERE id = $1
     ON CONFLICT (agent_id) DO UPDATE
     SET status = excluded.status, status_since = excluded.status_since, next_try_at = excluded.next_try_at,
         attempt = CASE WHEN same(c, excluded) THEN c.attempt + 1 ELSE 1 END,
         issued_at = CASE WHEN same(c, excluded) THEN c.issued_at END,
         error = CASE WHEN same(c, excluded) THEN c.error END
     WHERE c.next_try_at <= now() OR NOT same(c, excluded)
     RETURNING extract(epoch FROM now() - issued_at)::float8 * 1000 AS "issuedAgoMs", attempt, error`.replaceAll(
      'same(c, excluded)',
      '(c.status = excluded.status AND c.status_since = excluded.status_since)',
    ),
    [agentId, leaseMs],
    'claim_control',
  );
  return order ? { ...agent, ...order } : null;
}

async function stop(parts: MachineParts, order: Order, { stopTimeoutMs }: ControlLimits): Promise<void> {
  const { machines, ring, clock } = parts;
  const provider = machines.of(order.provider);
  const machine = machineOf(order, ring, clock);
  let found: MachineDescription | null = null;
  const giveUp = (reason: string) =>
    leave(parts, order, { reason: `It could not be stopped: ${reason}`, state: found?.state, failed: true });
  try {
    if (order.issuedAgoMs === null || order.issuedAgoMs > repeatStopMs) {
      if (!(await isTaken(order, provider, machine, ['stopping', 'stopped', 'gone']))) {
        await held(parts, order, () => provider.stop(machine));
      }
      await issued(parts, order);
    }
    found = await describeWithin(provider, machine, describeLimitMs);
    if (found?.state === 'stopped' || found?.state === 'gone') {
      return await leave(parts, order, { reason: 'the machine has stopped', state: found.state });
    }
    if (order.forMs > stopTimeoutMs) return await giveUp(`it still is ${found?.state ?? 'unknown'}.`);
    await later(parts, order, { delayMs: 500 });
  } catch (error) {
    const reason = reasonOf(error);
    if (isPermanent(error) || order.forMs > stopTimeoutMs) return giveUp(reason);
    await later(parts, order, { delayMs: backoffMs(order.attempt), error: reason });
  }
}

async function reboot(parts: MachineParts, order: Order, { rebootTimeoutMs }: ControlLimits): Promise<void> {
  const { machines, ring, clock } = parts;
  const { issuedAgoMs, forMs } = order;
  const provider = machines.of(order.provider);
  const machine = machineOf(order, ring, clock);
  if (issuedAgoMs !== null ? issuedAgoMs >= rebootTimeoutMs : forMs >= rebootTimeoutMs) {
    const found = await describeWithin(provider, machine, describeLimitMs);
    const reason = order.error ?? 'The machine did not report after its reboot.';
    return leave(parts, order, { reason, state: found?.state, failed: true });
  }
  if (issuedAgoMs !== null) return later(parts, order, { delayMs: rebootTimeoutMs - issuedAgoMs });
  try {
    if (!(await isTaken(order, provider, machine, ['stopping', 'starting']))) {
      await held(parts, order, () => provider.reboot(machine));
    }
    await issued(parts, order);
    // The handshake of the new boot ends it; this is for the case that there is none.
    await later(parts, order, { delayMs: rebootTimeoutMs });
  } catch (error) {
    const reason = reasonOf(error);
    if (isPermanent(error)) return leave(parts, order, { reason, failed: true });
    const delayMs = Math.min(backoffMs(order.attempt), Math.max(rebootTimeoutMs - forMs, 100));
    await later(parts, order, { delayMs, error: reason });
  }
}

async function terminate(parts: MachineParts, order: Order): Promise<void> {
  const { database, machines, ring, clock } = parts;
  const { agentId, organizationId } = order;
  let left: string | null = null;
  try {
    const machine = machineOf(order, ring, clock);
    await held(parts, order, () => machines.of(order.provider).terminate(machine));
  } catch (error) {
    // What nobody here can end is not ours to wait for.
    if (!isPermanent(error)) {
      return later(parts, order, { delayMs: backoffMs(order.attempt, 3_600_000), error: reasonOf(error) });
    }
    left = reasonOf(error);
    logger.warn(`agent ${agentId}: its machine was not terminated: ${left}`);
  }
  await database.transaction('system', async (tx) => {
    await tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]);
    await revokeAgentKeys(tx, { kind: 'system', id: 'machines', organizationId }, { organizationId, agentId });
    await cancelWake(tx, { organizationId, agentId, reason: 'the agent was terminated' });
    await tx.execute(`UPDATE agent SET vm_state = $2, vm_ip = NULL, public_tunnel_url = NULL WHERE id = $1`, [
      agentId,
      left ? 'unknown' : 'gone',
    ]);
    await tx.execute('DELETE FROM agent_control WHERE agent_id = $1', [agentId]);
    appendTimeline(tx, { organizationId, agentId }, [
      left
        ? {
            kind: 'provisioning',
            source: 'provider',
            level: 'warn',
            message: `its keys are revoked; ${leftAlone(left)}`,
          }
        : { kind: 'provisioning', source: 'provider', message: 'the machine is gone and its keys are revoked' },
    ]);
    await tx.ring({ queue: 'dispatch', name: 'agent-stopped', payload: { agentId } });
    tx.tell('agent', agentId);
  });
}

function leftAlone(reason: string): string {
  return `its machine is left as it is: ${reason}`;
}

/** A machine that was there before its agent is as its control plane says. */
async function beginAsDescribed(parts: MachineParts, order: Order): Promise<void> {
  const { database, machines, ring, clock } = parts;
  const { agentId, organizationId } = order;
  const found = await describeWithin(machines.of(order.provider), machineOf(order, ring, clock), describeLimitMs);
  if (!found) return;
  await database.transaction('system', async (tx) => {
    if (found.state === 'running' || found.state === 'starting') {
      const reason = `its provider says that it is ${found.state}; it has not reported yet`;
      await moveAgent(tx, { organizationId, agentId, from: ['stopped'], to: 'offline', source: 'provider', reason });
    }
    await tx.execute('UPDATE agent SET vm_state = $2, vm_ip = $3 WHERE id = $1', [agentId, found.state, found.ip]);
  });
}

/** Out of stopping or rebooting. An open wake that waited for this goes on. */
async function leave(
  parts: MachineParts,
  order: Order,
  { reason, state, failed = false }: { reason: string; state?: string; failed?: boolean },
): Promise<void> {
  const { agentId, organizationId, status, statusSource, drain } = order;
  const off = state === 'stopped' || state === 'gone';
  const idle = status === 'stopping' && statusSource === 'idle_monitor';
  const eventType: LifecycleEvent | undefined = idle ? (off ? 'idle_stop_success' : 'idle_stop_failed') : undefined;
  await parts.database.transaction('system', async (tx) => {
    const of = { organizationId, agentId };
    const spoke = idle && !off && (await heardLately(tx, agentId));
    const left: AgentStatus = off ? 'stopped' : 'offline';
    const moved = await moveAgent(tx, {
      ...of,
      from: [status],
      to: spoke ? (drain ? 'draining' : 'online') : left,
      source: idle ? 'idle_monitor' : 'provider',
      reason,
      ...(eventType ? { eventType } : {}),
    });
    if (!moved) return;
    if (failed) logger.warn(`agent ${agentId}: ${reason}`);
    await tx.execute('DELETE FROM agent_control WHERE agent_id = $1', [agentId]);
    await tx.execute(
      `UPDATE agent SET vm_state = COALESCE($2, vm_state), vm_ip = CASE WHEN $3 THEN NULL ELSE vm_ip END,
              public_tunnel_url = CASE WHEN $3 THEN NULL ELSE public_tunnel_url END,
              idle_stop_failed_at = CASE WHEN $4 THEN now() WHEN $3 THEN NULL ELSE idle_stop_failed_at END,
              clearing_command_id = CASE WHEN NOT $3 AND NOT $5 THEN clearing_command_id END
       WHERE id = $1`,
      [agentId, state ?? null, off, idle && !off, status === 'rebooting'],
    );
    await continueWake(tx, of);
    if (off) await tx.ring({ queue: 'dispatch', name: 'agent-stopped', payload: { agentId } });
    await tx.ring({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
  });
}

/** A machine that could not be stopped and goes on reporting is no less on than before. */
async function heardLately(tx: Transaction, agentId: string): Promise<boolean> {
  const rows = await tx.query(
    `SELECT FROM agent WHERE id = $1 AND last_seen > now() - $2 * interval '1 second' FOR UPDATE`,
    [agentId, heardLatelySeconds],
  );
  return rows.length > 0;
}

async function continueWake(tx: Transaction, of: { organizationId: string; agentId: string }): Promise<void> {
  const [wake] = await tx.query<{ id: string; reason: string; source: LifecycleSource }>(
    `UPDATE agent_wake SET next_try_at = now() WHERE agent_id = $1 AND state = 'open' RETURNING id, reason, source`,
    [of.agentId],
  );
  if (!wake) return;
  const { id: wakeId, source, reason } = wake;
  await moveAgent(tx, { ...of, from: ['stopped', 'offline'], to: 'starting', source, reason });
  await tx.ring({ queue: 'dispatch', name: 'wake-agent', payload: { wakeId } });
}

/** A try before may have been taken by a provider whose answer we never had: then its machine shows it. */
async function isTaken(
  { attempt, issuedAgoMs }: Order,
  provider: MachineProvider,
  machine: Machine,
  signs: MachineState[],
): Promise<boolean> {
  if (attempt === 1 || issuedAgoMs !== null) return false;
  const found = await describeWithin(provider, machine, describeLimitMs);
  return found !== null && signs.includes(found.state);
}

function held<T>({ database }: MachineParts, { agentId, status, attempt }: Order, work: () => Promise<T>): Promise<T> {
  const renew = () =>
    database.query(
      'system',
      `UPDATE agent_control SET next_try_at = now() + $4 * interval '1 millisecond'
       WHERE agent_id = $1 AND status = $2 AND attempt = $3`,
      [agentId, status, attempt, leaseMs],
      'renew_control',
    );
  return holdLease(renew, work);
}

/** Of this order: a call may come back when its agent has another one. */
async function issued({ database }: MachineParts, { agentId, status }: Order): Promise<void> {
  await database.query(
    'system',
    'UPDATE agent_control SET issued_at = now(), error = NULL WHERE agent_id = $1 AND status = $2',
    [agentId, status],
  );
}

/** Puts the next try off, and tells what went wrong when that is news. */
async function later(
  { database }: MachineParts,
  order: Order,
  { delayMs, error = null }: { delayMs: number; error?: string | null },
): Promise<void> {
  const { agentId, organizationId, status } = order;
  await database.transaction('system', async (tx) => {
    await tx.execute(
      `UPDATE agent_control
       SET next_try_at = now() + $3 * interval '1 millisecond', error = COALESCE($4, error)
       WHERE agent_id = $1 AND status = $2`,
      [agentId, status, delayMs, error],
    );
    if (!error || error === order.error) return;
    appendTimeline(tx, { organizationId, agentId }, [
      { kind: 'provisioning', level: 'warn', source: 'provider', message: `${status}: ${error} It is tried again.` },
    ]);
  });
}

function backoffMs(attempt: number, maxMs = 60_000): number {
  return Math.min(1000 * 2 ** Math.min(attempt - 1, 30), maxMs);
}

function isPermanent(error: unknown): boolean {
  return error instanceof MachineError && error.permanent;
}

function reasonOf(error: unknown): string {
  return error instanceof MachineError ? error.message : `It failed: ${(error as Error).message}`;
}
