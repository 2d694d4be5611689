import { type ExpectedRun, longestLead } from '@muster/machines';
import type { Database, ScheduleEntity, Transaction } from '@muster/database';
import { decideScheduledRun } from '../ticks/decide-tick';
import {
  scheduleGuardColumnsSql,
  toScheduleGuardFacts,
  type GuardRow,
  scheduleGuardTablesSql,
} from '../ticks/guard-facts';

/** Minutes after which a scheduled time that no tick has processed is no longer expected. */
const lateMinutes = 2;
/**
 * Numbers of an agent's next schedules that are read, step by step, until a schedule is found that is not skipped. The
 * first step is nearly always enough.
 */
const pageSizes = [5, 50, 500];

/**
 * SQL: the schedules of an agent are those that name it, and those with a target for whose next run it was prewoken. The
 * run of a target can start on another agent; then the time of its schedule changes, and nothing is expected any more.
 */
const nextSchedulesOfAgentSql = (limit: number) => `
  SELECT wanted.id AS agent_id, r.name, r.next_run_at, ${scheduleGuardColumnsSql('r.next_run_at')}
  FROM unnest($1::uuid[]) AS wanted (id)
  CROSS JOIN LATERAL (
    (SELECT * FROM schedule n
     WHERE n.agent_id = wanted.id AND n.enabled
       AND n.next_run_at > $2::timestamptz - interval '${lateMinutes} minutes'
     ORDER BY n.next_run_at LIMIT ${limit})
    UNION ALL
    (SELECT n.* FROM agent f JOIN schedule n ON n.organization_id = f.organization_id
     WHERE f.id = wanted.id AND f.placement AND n.enabled AND f.labels @> n.target_labels
       AND n.next_run_at > $2::timestamptz - interval '${lateMinutes} minutes'
       AND n.next_run_at <= $2::timestamptz + ${longestLead} AND n.prewoken_for = n.next_run_at
       AND EXISTS (
         SELECT FROM agent_wake w WHERE w.agent_id = f.id AND w.source = 'schedule' AND w.reason = 'prewake'
           AND w.requested_at > n.next_run_at - ${longestLead})
     ORDER BY n.next_run_at LIMIT ${limit})) r
  ${scheduleGuardTablesSql('r.next_run_at')}
  WHERE $3::uuid IS NULL OR r.organization_id = $3
  ORDER BY r.next_run_at`;

type Row = GuardRow &
  Pick<ScheduleEntity, 'name'> & { agentId: string } & { nextRunAt: NonNullable<ScheduleEntity['nextRunAt']> };

/** Returns the next run of each agent that no guard would skip in the current state. */
export async function findExpectedRuns(
  database: Database,
  organizationId: string,
  { agentIds, now }: { agentIds: string[]; now: Date },
): Promise<Map<string, ExpectedRun>> {
  return findFirstExpectedOfEach(agentIds, (ids, limit) =>
    database.query<Row>(
      { organizationId },
      nextSchedulesOfAgentSql(limit),
      [ids, now, organizationId],
      `expected_runs_${limit}`,
    ),
  );
}

/** Returns the next expected run of one agent, within a transaction. */
export async function findNextExpectedRun(tx: Transaction, agentId: string, now: Date): Promise<ExpectedRun | null> {
  const found = await findFirstExpectedOfEach([agentId], (ids, limit) =>
    tx.query<Row>(nextSchedulesOfAgentSql(limit), [ids, now, null], `expected_runs_${limit}`),
  );
  return found.get(agentId) ?? null;
}

/**
 * Finds the first expected run of each agent. Further schedules are read only for an agent that has more schedules and
 * whose schedules read so far are all skipped.
 */
async function findFirstExpectedOfEach(
  agentIds: string[],
  read: (agentIds: string[], limit: number) => Promise<Row[]>,
): Promise<Map<string, ExpectedRun>> {
  const found = new Map<string, ExpectedRun>();
  let wanted = agentIds;
  for (const limit of pageSizes) {
    if (wanted.length === 0) break;
    const readCounts = new Map<string, number>();
    for (const row of await read(wanted, limit)) {
      const { agentId, name, nextRunAt: at } = row;
      readCounts.set(agentId, (readCounts.get(agentId) ?? 0) + 1);
      if (found.has(agentId) || !decideScheduledRun(toScheduleGuardFacts(row, { force: false }), at).launch) continue;
      found.set(agentId, { agentId, at, name });
    }
    wanted = wanted.filter((id) => !found.has(id) && readCounts.get(id)! >= limit);
  }
  return found;
}
