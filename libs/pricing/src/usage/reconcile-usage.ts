import type { Database } from '@muster/database';

export interface CounterFault {
  organizationId: string;
  month: string;
  counted: number;
  events: number;
}

/** Counters that are not the sum of their events. There are none, unless something wrote past the use cases. */
export function unequalCounters(database: Database): Promise<CounterFault[]> {
  return database.query<CounterFault>(
    'system',
    `WITH sums AS (
       SELECT organization_id, month, count(*) FILTER (WHERE kind = 'run') AS runs,
              count(*) FILTER (WHERE outcome = 'completed') AS completed,
              count(*) FILTER (WHERE outcome = 'failed') AS failed,
              count(*) FILTER (WHERE outcome = 'cancelled') AS cancelled,
              sum(run_ms) AS run_ms, sum(spend_micros) AS spend_micros
       FROM usage_event GROUP BY organization_id, month)
     SELECT COALESCE(c.organization_id, s.organization_id) AS organization_id,
            to_char(COALESCE(c.month, s.month), 'YYYY-MM') AS month,
            COALESCE(c.runs, 0) AS counted, COALESCE(s.runs, 0) AS events
     FROM usage_counter c FULL JOIN sums s ON s.organization_id = c.organization_id AND s.month = c.month
     WHERE (c.runs, c.completed, c.failed, c.cancelled, c.run_ms, c.spend_micros)
       IS DISTINCT FROM (s.runs, s.completed, s.failed, s.cancelled, s.run_ms, s.spend_micros)`,
  );
}
