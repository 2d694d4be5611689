import { revokeAgentKeys } from '@muster/access';
import type { Transaction } from '@muster/database';
import { Logger } from '@nestjs/common';
import { appendTimeline } from '@muster/timeline';
import { describeMachineWithinLimit, leaseMs, machineColumns, toProviderMachine } from './machine-of';
import {
  computeBackoffMs,
  type ControlLimits,
  describeLimitMs,
  runWithOrderLease,
  isPermanentError,
  postponeOrder,
  type Order,
  describeProviderError,
} from './machine-order';
import { setAgentStatus } from '../life/set-agent-status';
import { rebootMachine } from './reboot-machine';
import { stopMachine } from './stop-machine';
import type { MachineParts } from './wake-machine';
import { cancelWake } from '../life/wakes';

/** Executes one step of the order that follows from an agent's status: stopping, rebooting or terminated. */
export async function executeOrder(parts: MachineParts, agentId: string, limits: ControlLimits): Promise<void> {
  const order = await parts.database.transaction('system', (tx) => leaseMachineOrder(tx, agentId));
  if (!order) return;
  switch (order.status) {
    case 'stopping':
      return stopMachine(parts, order, limits);
    case 'rebooting':
      return rebootMachine(parts, order, limits);
    case 'terminated':
      return terminateMachine(parts, order);
    default:
      return applyMachineDescription(parts, order);
  }
}

/** The fields of an order that are stored in its own row, and not in the agent's. */
type OrderRowField = 'issuedAgoMs' | 'attempt' | 'error' | 'refusals';

const ordered = ['stopping', 'rebooting', 'terminated'];
const logger = new Logger('machines');

/**
 * Leases the agent's order for the duration of one attempt. Returns null if there is no order or another process
 * executes it.
 */
async function leaseMachineOrder(tx: Transaction, agentId: string): Promise<Order | null> {
  const [agent] = await tx.query<Omit<Order, OrderRowField>>(
    `SELECT ${machineColumns}, extract(epoch FROM muster_now() - a.status_since)::float8 * 1000 AS for_ms,
            a.status_source, a.previous_status, a.last_seen IS NULL AND a.vm_state IS NULL AS never_seen, a.drain
     FROM agent a WHERE a.id = $1 FOR UPDATE`,
    [agentId],
    'control_agent',
  );
  if (!agent) return null;
  if (!ordered.includes(agent.status)) {
    await tx.execute('DELETE FROM agent_control WHERE agent_id = $1', [agentId]);
    const isNew = agent.neverSeen && agent.status === 'stopped' && agent.provider !== 'local';
    return isNew ? { ...agent, issuedAgoMs: null, attempt: 1, error: null, refusals: 0 } : null;
  }
  const [order] = await tx.query<Pick<Order, OrderRowField>>(
    `INSERT INTO agent_control AS c (agent_id, organization_id, status, status_since, attempt, next_try_at)
     SELECT id, organization_id, status, status_since, 1, muster_now() + $2 * interval '1 millisecond'
     FROM agent WHERE id = $1
     ON CONFLICT (agent_id) DO UPDATE
     SET status = excluded.status, status_since = excluded.status_since, next_try_at = excluded.next_try_at,
         attempt = CASE WHEN same(c, excluded) THEN c.attempt + 1 ELSE 1 END,
         issued_at = CASE WHEN same(c, excluded) THEN c.issued_at END,
         refusals = CASE WHEN same(c, excluded) THEN c.refusals ELSE 0 END,
         error = CASE WHEN same(c, excluded) THEN c.error END
     WHERE c.next_try_at <= muster_now() OR NOT same(c, excluded)
     RETURNING extract(epoch FROM muster_now() - issued_at)::float8 * 1000 AS issued_ago_ms, attempt, error, refusals`.replaceAll(
      'same(c, excluded)',
      '(c.status = excluded.status AND c.status_since = excluded.status_since)',
    ),
    [agentId, leaseMs],
    'claim_control',
  );
  return order ? { ...agent, ...order } : null;
}

async function terminateMachine(parts: MachineParts, order: Order): Promise<void> {
  const { database, machines, keyRing, clock } = parts;
  const { agentId, organizationId } = order;
  let left: string | null = null;
  try {
    const machine = toProviderMachine(order, keyRing, clock);
    await runWithOrderLease(parts, order, () => machines.get(order.provider).terminate(machine));
  } catch (error) {
    // A permanent error means that the service cannot terminate this machine, so it does not try again.
    if (!isPermanentError(error)) {
      return postponeOrder(parts, order, {
        delayMs: computeBackoffMs(order.attempt, 3_600_000),
        error: describeProviderError(error),
      });
    }
    left = describeProviderError(error);
    logger.warn(`could not terminate the machine of agent ${agentId}: ${left}`);
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
            message: `its keys are revoked; ${describeFailedTermination(left)}`,
          }
        : { kind: 'provisioning', source: 'provider', message: 'the machine is gone and its keys are revoked' },
    ]);
    await tx.enqueue({ queue: 'dispatch', name: 'agent-stopped', payload: { agentId } });
  });
}

function describeFailedTermination(reason: string): string {
  return `its machine was not terminated: ${reason}`;
}

/** Sets a new agent's status from its provider's description, because the machine may already be running. */
async function applyMachineDescription(parts: MachineParts, order: Order): Promise<void> {
  const { database, machines, keyRing, clock } = parts;
  const { agentId, organizationId } = order;
  const found = await describeMachineWithinLimit(
    machines.get(order.provider),
    toProviderMachine(order, keyRing, clock),
    describeLimitMs,
  );
  if (!found) return;
  await database.transaction('system', async (tx) => {
    if (found.state === 'running' || found.state === 'starting') {
      const reason = `the provider reports that the machine is ${found.state}, but its worker has not reported yet`;
      await setAgentStatus(tx, {
        organizationId,
        agentId,
        move: 'found_on',
        to: 'offline',
        source: 'provider',
        reason,
      });
    }
    await tx.execute('UPDATE agent SET vm_state = $2, vm_ip = $3 WHERE id = $1', [agentId, found.state, found.ip]);
  });
}
