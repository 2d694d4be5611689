import type { ExpectedRun } from '@muster/agents';
import type { Database, ScheduleEntity, Transaction } from '@muster/database';
import { decideRun } from '../ticks/decide-tick';
import { guardColumns, guardFactsOf, type GuardRow, guardTables } from '../ticks/guard-facts';

/** A time that nobody has settled so long after is no longer expected. */
const lateMinutes = 2;
/** So many of an agent's next schedules are asked for one that is not skipped. */
const looked = 5;

const ofAgents = `
  SELECT r.agent_id, r.name, r.next_run_at, ${guardColumns('r.next_run_at')}
  FROM unnest($1::uuid[]) AS wanted (id)
  CROSS JOIN LATERAL (
    SELECT * FROM schedule n
    WHERE n.agent_id = wanted.id AND n.enabled
      AND n.next_run_at > $2::timestamptz - interval '${lateMinutes} minutes'
    ORDER BY n.next_run_at LIMIT ${looked}) r
  ${guardTables('r.next_run_at')}
  WHERE $3::uuid IS NULL OR r.organization_id = $3
  ORDER BY r.next_run_at`;

type Row = GuardRow &
  Pick<ScheduleEntity, 'agentId' | 'name'> & { nextRunAt: NonNullable<ScheduleEntity['nextRunAt']> };

/** Which run comes next on each of the agents, of those that the guards let pass as things stand. */
export async function expectedRuns(
  database: Database,
  organizationId: string,
  { agentIds, now }: { agentIds: string[]; now: Date },
): Promise<Map<string, ExpectedRun>> {
  if (agentIds.length === 0) return new Map();
  const values = [agentIds, now, organizationId];
  return firstOfEach(await database.query<Row>({ organizationId }, ofAgents, values, 'expected_runs'));
}

/** The same within a transaction, of one agent. */
export async function nextExpectedRun(tx: Transaction, agentId: string, now: Date): Promise<ExpectedRun | null> {
  const rows = await tx.query<Row>(ofAgents, [[agentId], now, null], 'expected_runs');
  return firstOfEach(rows).get(agentId) ?? null;
}

function firstOfEach(rows: Row[]): Map<string, ExpectedRun> {
  const found = new Map<string, ExpectedRun>();
  for (const row of rows) {
    const { agentId, name, nextRunAt: at } = row;
    if (found.has(agentId) || !decideRun(guardFactsOf(row, { force: false }), at).launch) continue;
    found.set(agentId, { agentId, at, name });
  }
  return found;
}
