import type { AgentStatus } from '@muster/contracts';
import type { AgentEntity, AgentWakeEntity, Database, Transaction } from '@muster/database';
import { type Clock, runWhileRenewingLease, finishWithin } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { MachineError, type Machines } from '@muster/vm';
import { appendTimeline } from '@muster/timeline';
import { appendEndedBootSql } from '../life/ended-boots';
import { describeMachineWithinLimit, leaseMs, machineColumns, toProviderMachine, type MachineRow } from './machine-of';
import { isOnStatus } from '../life/agent-life';
import { setAgentStatus } from '../life/set-agent-status';
import { enqueueWorkOfReadyAgent, cancelWake, endWake, recordFailedWake } from '../life/wakes';

export interface MachineParts {
  database: Database;
  machines: Machines;
  keyRing: KeyRing;
  clock: Clock;
}

export interface WakeFacts {
  open: boolean;
  /** Whether it is time for the next attempt to start the machine. */
  due: boolean;
  /** Whether the deadline of the wake has passed. */
  over: boolean;
  agentStatus: AgentStatus;
}

export type WakeStep = 'none' | 'try' | 'later' | 'ready' | 'expire' | 'cancel';

/** Decides the next step of a wake. */
export function decideWakeStep({ open, due, over, agentStatus }: WakeFacts): WakeStep {
  if (!open) return 'none';
  if (agentStatus === 'terminated') return 'cancel';
  // The agent is online because its machine was on all the time, and a heartbeat has arrived again.
  if (isOnStatus(agentStatus)) return 'ready';
  if (over) return 'expire';
  if (!due) return 'none';
  return agentStatus === 'stopping' || agentStatus === 'rebooting' ? 'later' : 'try';
}

interface LeasedWake extends MachineRow, Pick<AgentWakeEntity, 'attempt' | 'error'> {
  wakeId: string;
  step: WakeStep;
  /** Milliseconds until the deadline of the wake. */
  leftMs: number;
  /** Whether the previous wake timed out because the machine did not report, and no job is assigned to the agent. */
  wasSilent: boolean;
}

const firstRetryMs = 1000;
const maxRetryMs = 15_000;
const describeLimitMs = 2000;

/**
 * Executes one step of a wake. Several processes may call this for the same wake; each call decides under the agent's
 * lock what to do.
 */
export async function wakeMachine(parts: MachineParts, wakeId: string): Promise<WakeStep> {
  const leased = await parts.database.transaction('system', (tx) => leaseWakeAttempt(tx, wakeId));
  if (!leased) return 'none';
  if (leased.step === 'try') {
    // If the start takes longer than the deadline of the wake, the wake has been closed in the meantime.
    const done = tryToStartMachine(parts, leased).then(() => true);
    if (!(await finishWithin(leased.leftMs, done, () => false))) await expireWake(parts, leased);
  }
  if (leased.step === 'expire') await expireWake(parts, leased);
  return leased.step;
}

async function leaseWakeAttempt(tx: Transaction, wakeId: string): Promise<LeasedWake | null> {
  const [agent] = await tx.query<MachineRow>(
    `SELECT ${machineColumns} FROM agent a WHERE a.id = (SELECT agent_id FROM agent_wake WHERE id = $1) FOR UPDATE`,
    [wakeId],
    'wake_agent',
  );
  if (!agent) return null;
  const [wake] = await tx.query<Omit<WakeFacts, 'agentStatus'> & Pick<LeasedWake, 'attempt' | 'error' | 'leftMs'>>(
    `SELECT state = 'open' AS open, next_try_at <= muster_now() AS due, deadline <= muster_now() AS over, attempt, error,
            extract(epoch FROM deadline - muster_now())::float8 * 1000 AS left_ms
     FROM agent_wake WHERE id = $1 FOR UPDATE`,
    [wakeId],
    'wake_row',
  );
  const step = decideWakeStep({ ...wake!, agentStatus: agent.status });
  const { organizationId, agentId } = agent;
  if (step === 'try') {
    await tx.execute(
      `UPDATE agent_wake
       SET attempt = attempt + 1, next_try_at = LEAST(deadline, muster_now() + $2 * interval '1 millisecond') WHERE id = $1`,
      [wakeId, leaseMs],
    );
  }
  if (step === 'later') {
    await tx.execute(`UPDATE agent_wake SET next_try_at = muster_now() + interval '500 milliseconds' WHERE id = $1`, [
      wakeId,
    ]);
  }
  if (step === 'ready') {
    await endWake(tx, agentId, { state: 'ready', wakeId });
    await enqueueWorkOfReadyAgent(tx, { organizationId, agentId, reason: 'the machine is back without a new boot' });
  }
  if (step === 'cancel') await cancelWake(tx, { organizationId, agentId, reason: 'the agent was terminated' });
  const { attempt, error, leftMs } = wake!;
  const wasSilent = step === 'try' && attempt === 0 && (await wasPreviousWakeSilent(tx, agentId, wakeId));
  return { ...agent, wakeId, step, attempt: attempt + 1, error, leftMs, wasSilent };
}

async function wasPreviousWakeSilent(tx: Transaction, agentId: string, wakeId: string): Promise<boolean> {
  const [before] = await tx.query<{ silent: boolean }>(
    `SELECT w.state = 'timeout' AND a.current_job_id IS NULL AS silent FROM agent_wake w JOIN agent a ON a.id = w.agent_id
     WHERE w.agent_id = $1 AND w.id <> $2 AND w.state IN ('ready', 'timeout', 'failed')
     ORDER BY w.requested_at DESC LIMIT 1`,
    [agentId, wakeId],
    'wake_before',
  );
  return before?.silent ?? false;
}

async function tryToStartMachine(parts: MachineParts, leased: LeasedWake): Promise<void> {
  const { database, machines, keyRing, clock } = parts;
  const { wakeId, attempt, wasSilent } = leased;
  const provider = machines.get(leased.provider);
  const machine = toProviderMachine(leased, keyRing, clock);
  try {
    // An earlier attempt may have started the machine although the provider's answer was lost, so the machine's state
    // is read first.
    const known =
      attempt > 1 || wasSilent ? await describeMachineWithinLimit(provider, machine, describeLimitMs) : null;
    const runWithWakeLease = (work: () => Promise<void>) =>
      runWhileRenewingLease(() => renewWakeLease(parts, leased), work, leaseMs / 3);
    if (wasSilent && known?.state === 'running') await runWithWakeLease(() => rebootSilentMachine(parts, leased));
    else if (known?.state !== 'running' && known?.state !== 'starting')
      await runWithWakeLease(() => provider.start(machine));
  } catch (error) {
    const reason = error instanceof MachineError ? error.message : `Starting failed: ${(error as Error).message}`;
    if (error instanceof MachineError && error.isPermanent) {
      return finishFailedWake(parts, leased, { state: 'failed', eventType: 'wake_failed', reason });
    }
    const delayMs = Math.min(firstRetryMs * 2 ** (attempt - 1), maxRetryMs);
    await database.query(
      'system',
      `UPDATE agent_wake SET error = $2, next_try_at = LEAST(deadline, muster_now() + $3 * interval '1 millisecond')
       WHERE id = $1 AND state = 'open'`,
      [wakeId, reason, delayMs],
    );
    return;
  }
  // The provider has started the machine. The wake now waits for the worker's report.
  await database.query(
    'system',
    `UPDATE agent_wake SET error = NULL, next_try_at = deadline WHERE id = $1 AND state = 'open'`,
    [wakeId],
  );
}

/** Reboots a machine that is on but does not report, because starting it again would change nothing. */
async function rebootSilentMachine(
  { database, machines, keyRing, clock }: MachineParts,
  leased: LeasedWake,
): Promise<void> {
  const { organizationId, agentId } = leased;
  // The current boot is marked as ended before the reboot. If the old boot reports now, it gets no work and must
  // handshake with a new boot id.
  await database.query(
    'system',
    `UPDATE agent SET ended_boots = ${appendEndedBootSql('agent')} WHERE id = $1 AND status = 'starting'`,
    [agentId],
  );
  await machines.get(leased.provider).reboot(toProviderMachine(leased, keyRing, clock));
  await database.transaction('system', async (tx) => {
    const message = 'The machine is on but did not report after the previous wake; it is being rebooted';
    appendTimeline(tx, { organizationId, agentId }, [
      { kind: 'provisioning', level: 'warn', source: 'provider', message, data: { rebooted: true } },
    ]);
  });
}

/** Renews the process's lease of the wake, unless another process has taken over the wake. */
async function renewWakeLease({ database }: MachineParts, { wakeId, attempt }: LeasedWake): Promise<void> {
  await database.query(
    'system',
    `UPDATE agent_wake SET next_try_at = LEAST(deadline, muster_now() + $3 * interval '1 millisecond')
     WHERE id = $1 AND state = 'open' AND attempt = $2`,
    [wakeId, attempt, leaseMs],
    'renew_wake',
  );
}

async function expireWake(parts: MachineParts, leased: LeasedWake): Promise<void> {
  const { error } = leased;
  if (error) return finishFailedWake(parts, leased, { state: 'failed', eventType: 'wake_failed', reason: error });
  return finishFailedWake(parts, leased, {
    state: 'timeout',
    eventType: 'wake_timeout',
    reason: 'The machine did not report in time.',
  });
}

async function finishFailedWake(
  parts: MachineParts,
  leased: LeasedWake,
  end: { state: 'failed' | 'timeout'; eventType: WakeEnd; reason: string },
): Promise<void> {
  const { database, machines, keyRing, clock } = parts;
  const { wakeId, agentId } = leased;
  const found = await describeMachineWithinLimit(
    machines.get(leased.provider),
    toProviderMachine(leased, keyRing, clock),
    describeLimitMs,
  );
  await database.transaction('system', async (tx) => {
    await tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]);
    if (!(await endWake(tx, agentId, { state: end.state, error: end.reason, wakeId }))) return;
    await endFailedWake(tx, leased, { ...end, found: found?.state ?? null, ip: found?.ip ?? null });
  });
}

type WakeEnd = 'wake_failed' | 'wake_timeout';

/** Moves the agent to stopped or offline after a failed wake, by the state of its machine. */
export async function endFailedWake(
  tx: Transaction,
  { organizationId, agentId }: Pick<MachineRow, 'organizationId' | 'agentId'>,
  end: { eventType: WakeEnd; reason: string; found: string | null; ip: string | null },
): Promise<void> {
  const { eventType, reason, found, ip } = end;
  const to = found === 'stopped' || found === 'gone' ? 'stopped' : 'offline';
  const source = 'provider';
  const moved = await setAgentStatus(tx, {
    organizationId,
    agentId,
    move: 'wake_ended',
    to,
    source,
    reason,
    eventType,
  });
  if (!moved) {
    const [agent] = await tx.query<Pick<AgentEntity, 'status'>>('SELECT status FROM agent WHERE id = $1', [agentId]);
    const { status } = agent!;
    recordFailedWake(tx, { organizationId, agentId, eventType, reason, status });
  }
  if (found) await tx.execute('UPDATE agent SET vm_state = $2, vm_ip = $3 WHERE id = $1', [agentId, found, ip]);
  await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
}
