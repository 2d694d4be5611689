import {
  readLastWakeFailures,
  longestLead,
  prewakeLead,
  computePrewakeTimeoutMs,
  requestWake,
  getWakeDelayMs,
} from '@muster/machines';
import type { AgentEntity, Database, OrganizationSettingsEntity, ScheduleEntity, Transaction } from '@muster/database';
import { nilId, Round, sweepRows, type SweepCounts } from '@muster/platform';
import {
  scheduleGuardColumnsSql,
  toScheduleGuardFacts,
  type GuardRow,
  scheduleGuardTablesSql,
} from '../ticks/guard-facts';
import { decidePrewakeOfMachine } from './decide-prewake';
import { prewakeForTargets } from './prewake-for-targets';

/** A machine that is off while the time of one of its schedules is near. */
type Sleeper = Pick<AgentEntity, 'id' | 'organizationId'>;

type Upcoming = GuardRow &
  Pick<ScheduleEntity, 'id' | 'prewokenFor'> &
  Pick<OrganizationSettingsEntity, 'prewake'> &
  Pick<AgentEntity, 'bootMs'> & { nextRunAt: NonNullable<ScheduleEntity['nextRunAt']> };

/**
 * SQL: machines to wake. It starts with the schedules whose time is near, by their index, so the cost depends on the
 * rows found and not on all rows.
 */
const sleepers = `
  SELECT DISTINCT a.id, a.organization_id
  FROM schedule r JOIN agent a ON a.id = r.agent_id
  JOIN organization_settings s ON s.organization_id = a.organization_id
  JOIN organization o ON o.id = a.organization_id
  WHERE r.enabled AND r.next_run_at > $1 AND r.next_run_at <= $1::timestamptz + ${longestLead}
    AND r.next_run_at <= $1::timestamptz + ${prewakeLead} AND r.prewoken_for IS DISTINCT FROM r.next_run_at
    AND a.status IN ('stopped', 'offline', 'stopping') AND a.provider <> 'external' AND a.drain IS NULL
    AND s.prewake AND s.vm_auto_wake_on_job AND NOT o.suspended AND a.id > $2
  ORDER BY a.id LIMIT $3`;

/**
 * The locked schedules of one machine, in order of time. A schedule that another tick has locked is left to that tick.
 */
const upcoming = `
  SELECT r.id, r.next_run_at, r.prewoken_for, s.prewake, a.boot_ms, ${scheduleGuardColumnsSql('r.next_run_at')}
  FROM schedule r ${scheduleGuardTablesSql('r.next_run_at')}
  WHERE r.id = ANY($1) AND a.id IS NOT NULL ORDER BY r.next_run_at, r.id`;

const maxSchedules = 50;

/**
 * Wakes machines ahead of their scheduled runs, each by its own boot time. Safe on any number of replicas; each machine
 * is woken once for each scheduled time. A machine that is found late is still woken, because that shortens the wait.
 */
export async function prewakeMachines(
  database: Database,
  { now, wakeTimeoutMs }: { now: () => Date; wakeTimeoutMs: number },
  round = new Round('prewake machines'),
): Promise<SweepCounts<'woken'>> {
  const named = await sweepRows(round, {
    name: 'prewake',
    outcomes: ['woken'],
    candidates: (after: Sleeper | null, limit) =>
      database.query<Sleeper>('system', sleepers, [now(), after?.id ?? nilId, limit], 'prewake_sleepers'),
    settle: (sleeper) =>
      database.transaction({ organizationId: sleeper.organizationId }, (tx) =>
        prewakeMachine(tx, sleeper, { now: now(), wakeTimeoutMs }),
      ),
    rowOf: ({ id }) => `agent ${id}`,
    atOnce: 3,
  });
  // Machines of named runs are woken first, because those runs can start on no other machine.
  const placed = await prewakeForTargets(database, { now, wakeTimeoutMs }, round);
  return { looked: named.looked + placed.looked, woken: named.woken + placed.woken };
}

async function prewakeMachine(
  tx: Transaction,
  { id: agentId, organizationId }: Sleeper,
  { now, wakeTimeoutMs }: { now: Date; wakeTimeoutMs: number },
): Promise<'woken' | null> {
  // Lock order as in a tick: a schedule before its agent.
  const locked = await tx.query<Pick<ScheduleEntity, 'id'>>(
    `SELECT r.id FROM schedule r JOIN agent a ON a.id = r.agent_id
     WHERE r.agent_id = $1 AND r.organization_id = $2 AND r.enabled AND r.next_run_at > $3
       AND r.next_run_at <= $3::timestamptz + ${prewakeLead}
     ORDER BY r.next_run_at, r.id LIMIT ${maxSchedules} FOR UPDATE OF r SKIP LOCKED`,
    [agentId, organizationId, now],
    'lock_upcoming',
  );
  if (locked.length === 0) return null;
  await tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId], 'lock_sleeper');
  const ids = locked.map(({ id }) => id);
  const schedules = await tx.query<Upcoming>(upcoming, [ids], 'upcoming_runs');
  const { consecutive, lastAt } = await readLastWakeFailures(tx, agentId);
  const wakeRestsUntil = lastAt ? new Date(lastAt.getTime() + getWakeDelayMs(consecutive)) : null;
  const next = schedules.find((row) => {
    const { nextRunAt, prewokenFor, prewake: allowed, bootMs } = row;
    const guards = toScheduleGuardFacts(row, { force: false });
    const facts = { nextRunAt, prewokenFor, prewake: allowed, bootMs, guards, wakeRestsUntil };
    return decidePrewakeOfMachine(facts, now).wake;
  });
  if (!next) return null;
  const { id: scheduleId, nextRunAt, bootMs } = next;
  // One wake serves all these schedules. If it fails, none of them requests another.
  await tx.execute('UPDATE schedule SET prewoken_for = next_run_at WHERE id = ANY($1)', [ids]);
  await requestWake(tx, {
    organizationId,
    agentId,
    source: 'schedule',
    reason: 'prewake',
    data: { scheduleId, runAt: nextRunAt.toISOString() },
    timeoutMs: computePrewakeTimeoutMs(bootMs, wakeTimeoutMs),
  });
  return 'woken';
}
