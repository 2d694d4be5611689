import { createOrganization } from '@muster/access';
import type { Database } from '@muster/database';
import { rebuildRoiRollups } from '@muster/pilot';
import { rebuildCostDays } from '@muster/pricing';
import { insertRows } from './insert-rows';
import { buildLogRows } from './log-rows';
import { buildRunRows, generateRuns } from './run-rows';
import { type Month, createSubjects } from './subjects';

interface Demonstration extends Omit<Month, 'organizationId'> {
  name: string;
  adminEmail: string;
  adminPasswordHash: string;
  say: (line: string) => void;
}

const runsPerTransaction = 2000;
const linesPerTransaction = 10_000;

/**
 * Creates an organization as it looks after a month of use. Its machines do not exist, and its schedules are paused.
 */
export async function makeMonth(database: Database, { say, ...demo }: Demonstration): Promise<string> {
  const organizationId = await database.transaction('system', async (tx) => {
    const actor = { kind: 'system', id: 'demo-month', organizationId: '' } as const;
    const { organization } = await createOrganization(tx, actor, demo);
    return organization.id;
  });
  const month = { ...demo, organizationId };
  const subjects = createSubjects(month);
  await insertTables(database, subjects);
  const runs = generateRuns(month, subjects, demo.runs);
  for (let from = 0; from < runs.length; from += runsPerTransaction) {
    const some = runs.slice(from, from + runsPerTransaction);
    await insertTables(database, buildRunRows(month, some));
    say(`${from + some.length} of ${runs.length} runs`);
  }
  const { timeline_entry: lines, ...heads } = buildLogRows(month, runs);
  for (let from = 0; from < lines!.length; from += linesPerTransaction) {
    await insertTables(database, { timeline_entry: lines!.slice(from, from + linesPerTransaction) });
  }
  await insertTables(database, heads);
  await database.transaction('system', (tx) => tx.execute(countersOfMonths, [organizationId]));
  await rebuildRoiRollups(database, organizationId);
  await rebuildCostDays(database, organizationId);
  return organizationId;
}

function insertTables(database: Database, tables: Record<string, readonly object[]>): Promise<void> {
  return database.transaction('system', async (tx) => {
    for (const [table, rows] of Object.entries(tables)) await insertRows(tx, table, rows);
  });
}

/** Inserts each month's totals of the usage events. */
const countersOfMonths = `
  INSERT INTO usage_counter (organization_id, month, runs, completed, failed, cancelled, run_ms, spend_micros)
  SELECT organization_id, month, count(*) FILTER (WHERE kind = 'run'), count(*) FILTER (WHERE outcome = 'completed'),
         count(*) FILTER (WHERE outcome = 'failed'), count(*) FILTER (WHERE outcome = 'cancelled'),
         COALESCE(sum(run_ms), 0), COALESCE(sum(spend_micros), 0)
  FROM usage_event WHERE organization_id = $1 GROUP BY 1, 2`;
