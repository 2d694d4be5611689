import type { MicroUsd } from '@muster/contracts';
import type { Database, UsageCounterEntity } from '@muster/database';

export type CounterFigures = Pick<
  UsageCounterEntity,
  'runs' | 'completed' | 'failed' | 'cancelled' | 'runMs' | 'spendMicros'
>;

export interface CounterFault {
  organizationId: string;
  month: string;
  counted: CounterFigures;
  events: CounterFigures;
}

type Row = Pick<CounterFault, 'organizationId' | 'month'> &
  CounterFigures &
  Record<'sumRuns' | 'sumCompleted' | 'sumFailed' | 'sumCancelled' | 'sumRunMs', number> & { sumSpendMicros: MicroUsd };

/**
 * Lists counters that are not the sum of their counted events. A difference means that other code changed the tables.
 */
export async function findUnequalCounters(
  database: Database,
  organizationIds: string[] | null = null,
): Promise<CounterFault[]> {
  const rows = await database.query<Row>(
    'system',
    `WITH sums AS (
       SELECT organization_id, month, count(*) FILTER (WHERE kind = 'run') AS runs,
              count(*) FILTER (WHERE outcome = 'completed') AS completed,
              count(*) FILTER (WHERE outcome = 'failed') AS failed,
              count(*) FILTER (WHERE outcome = 'cancelled') AS cancelled,
              sum(run_ms)::bigint AS run_ms, sum(spend_micros)::bigint AS spend_micros
       FROM usage_event
       WHERE counted AND ($1::uuid[] IS NULL OR organization_id = ANY($1)) GROUP BY organization_id, month),
     c AS (SELECT * FROM usage_counter WHERE $1::uuid[] IS NULL OR organization_id = ANY($1))
     SELECT COALESCE(c.organization_id, s.organization_id) AS organization_id,
            to_char(COALESCE(c.month, s.month), 'YYYY-MM') AS month, ${usageColumnsSql('c', (name) => name)},
            ${usageColumnsSql('s', (name) => `sum_${name}`)}
     FROM c FULL JOIN sums s ON s.organization_id = c.organization_id AND s.month = c.month
     WHERE (c.runs, c.completed, c.failed, c.cancelled, c.run_ms, c.spend_micros)
       IS DISTINCT FROM (s.runs, s.completed, s.failed, s.cancelled, s.run_ms, s.spend_micros)
     ORDER BY 1, 2`,
    [organizationIds],
  );
  return rows.map(({ organizationId, month, ...row }) => ({
    organizationId,
    month,
    counted: {
      runs: row.runs,
      completed: row.completed,
      failed: row.failed,
      cancelled: row.cancelled,
      runMs: row.runMs,
      spendMicros: row.spendMicros,
    },
    events: {
      runs: row.sumRuns,
      completed: row.sumCompleted,
      failed: row.sumFailed,
      cancelled: row.sumCancelled,
      runMs: row.sumRunMs,
      spendMicros: row.sumSpendMicros,
    },
  }));
}

function usageColumnsSql(table: string, as: (name: string) => string): string {
  const names = ['runs', 'completed', 'failed', 'cancelled', 'run_ms', 'spend_micros'];
  return names.map((name) => `COALESCE(${table}.${name}, 0) AS ${as(name)}`).join(', ');
}
