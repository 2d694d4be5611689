import type { Database, OrganizationSettingsEntity, ScheduleEntity, Transaction } from '@muster/database';
import { decideWakesForRuns, lockWakesOfOrganization, type Reserved } from '@muster/jobs';
import { computePrewakeLeadMs, computePrewakeTimeoutMs, longestLead, prewakeLead, requestWake } from '@muster/machines';
import { nilId, type Round, sweepRows, type SweepCounts } from '@muster/platform';
import { decideScheduledRun } from '../ticks/decide-tick';
import {
  scheduleGuardColumnsSql,
  toScheduleGuardFacts,
  type GuardRow,
  scheduleGuardTablesSql,
} from '../ticks/guard-facts';

/** A schedule with a target for whose next run no machine was woken yet. */
type Near = Pick<ScheduleEntity, 'id' | 'organizationId'>;

type Upcoming = GuardRow &
  Pick<ScheduleEntity, 'id' | 'prewokenFor'> &
  Pick<OrganizationSettingsEntity, 'prewake'> & { targetLabels: string[]; nextRunAt: Date };

/** SQL: schedules whose time is so near that a fitting machine, which is off, would have to be woken now. */
const nearSchedules = `
  SELECT r.id, r.organization_id
  FROM schedule r JOIN organization_settings s ON s.organization_id = r.organization_id
  JOIN organization o ON o.id = r.organization_id
  WHERE r.enabled AND r.target_labels IS NOT NULL AND r.next_run_at > $1
    AND r.next_run_at <= $1::timestamptz + ${longestLead} AND r.prewoken_for IS DISTINCT FROM r.next_run_at
    AND s.prewake AND s.vm_auto_wake_on_job AND NOT o.suspended
    AND EXISTS (
      SELECT FROM agent a WHERE a.organization_id = r.organization_id AND a.labels @> r.target_labels AND a.placement
        AND a.status IN ('stopped', 'offline') AND a.provider <> 'external' AND a.drain IS NULL
        AND r.next_run_at <= $1::timestamptz + ${prewakeLead})
    AND r.id > $2
  ORDER BY r.id LIMIT $3`;

/** Maximum number of an organization's next runs that are decided together. */
const maxRuns = 200;

/** SQL: the next runs of the organization’s schedules with targets, also those for which a machine was woken already. */
const upcoming = `
  SELECT r.id, r.next_run_at, r.prewoken_for, r.target_labels, s.prewake, ${scheduleGuardColumnsSql('r.next_run_at')}
  FROM schedule r ${scheduleGuardTablesSql('r.next_run_at')}
  WHERE r.organization_id = $1 AND r.enabled AND r.target_labels IS NOT NULL AND r.next_run_at > $2
    AND r.next_run_at <= $2::timestamptz + ${longestLead}
  ORDER BY r.next_run_at, r.id LIMIT ${maxRuns}`;

/** SQL: the agents that schedules name, with the time of the first run of each. Such an agent starts that run. */
const named = `
  SELECT agent_id, min(next_run_at) AS at FROM schedule
  WHERE organization_id = $1 AND enabled AND agent_id IS NOT NULL AND next_run_at > $2
    AND next_run_at <= $2::timestamptz + ${longestLead}
  GROUP BY agent_id`;

/**
 * Wakes fitting machines ahead of the runs of schedules with targets. Each due run needs a machine that is already
 * online and idle, or booting; for every run without one, a machine is woken ahead of time by its own boot time.
 */
export function prewakeForTargets(
  database: Database,
  { now, wakeTimeoutMs }: { now: () => Date; wakeTimeoutMs: number },
  round: Round,
): Promise<SweepCounts<'woken'>> {
  return sweepRows(round, {
    name: 'prewake for targets',
    outcomes: ['woken'],
    candidates: (after: Near | null, limit) =>
      database.query<Near>('system', nearSchedules, [now(), after?.id ?? nilId, limit], 'prewake_near'),
    settle: (near) =>
      database.transaction({ organizationId: near.organizationId }, (tx) =>
        prewakeForTarget(tx, near, { now: now(), wakeTimeoutMs }),
      ),
    rowOf: ({ id }) => `schedule ${id}`,
    atOnce: 3,
  });
}

async function prewakeForTarget(
  tx: Transaction,
  { id, organizationId }: Near,
  { now, wakeTimeoutMs }: { now: Date; wakeTimeoutMs: number },
): Promise<'woken' | null> {
  await lockWakesOfOrganization(tx, organizationId);
  // A schedule that a tick has locked is left to the tick, which launches its run.
  const locked = await tx.query(
    'SELECT FROM schedule WHERE id = $1 AND organization_id = $2 AND enabled FOR UPDATE SKIP LOCKED',
    [id, organizationId],
    'lock_near',
  );
  if (locked.length === 0) return null;
  const rows = await tx.query<Upcoming>(upcoming, [organizationId, now], 'upcoming_of_targets');
  const reserved = await tx.query<Reserved>(named, [organizationId, now], 'reserved_agents');
  const runs = rows
    .filter((row) => decideScheduledRun(toScheduleGuardFacts(row, { force: false }), row.nextRunAt).launch)
    .map((row) => ({
      id: row.id,
      labels: row.targetLabels,
      at: row.nextRunAt,
      hasWake: isPrewokenForNextRun(row),
      row,
    }));
  const run = runs.find((each) => each.id === id)?.row;
  if (!run?.prewake || !run.autoWake || isPrewokenForNextRun(run)) return null;
  const wakes = await decideWakesForRuns(tx, organizationId, { runs, reserved, now });
  const wake = wakes.find(({ runId }) => runId === id);
  if (!wake || run.nextRunAt.getTime() - now.getTime() > computePrewakeLeadMs(wake.bootMs)) return null;
  const { agentId, bootMs } = wake;
  // If the wake fails, the schedule requests no other before its run; then the dispatcher wakes an agent for the job.
  await tx.execute('UPDATE schedule SET prewoken_for = next_run_at WHERE id = $1', [id]);
  await requestWake(tx, {
    organizationId,
    agentId,
    source: 'schedule',
    reason: 'prewake',
    data: { scheduleId: id, runAt: run.nextRunAt.toISOString() },
    timeoutMs: computePrewakeTimeoutMs(bootMs, wakeTimeoutMs),
  });
  return 'woken';
}

function isPrewokenForNextRun({ prewokenFor, nextRunAt }: Pick<Upcoming, 'prewokenFor' | 'nextRunAt'>): boolean {
  return prewokenFor?.getTime() === nextRunAt.getTime();
}
