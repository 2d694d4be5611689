import { invalidFieldError, maxMachineTimeDays, type MachineTime, type MachineTimeQuery } from '@muster/contracts';
import type { Database } from '@muster/database';
import { offStatuses, statusListSql } from '../life/agent-life';
import { millisecondsToHours } from './read-savings';

const dayMs = 24 * 60 * 60_000;

interface DayRow {
  day: string;
  dayMs: number;
  onMs: number;
  usedMs: number;
  offMs: number;
  unknownMs: number;
  runs: number;
}

/** SQL: the sum of the lengths of a multirange's ranges, in milliseconds. */
const sumRangesMsSql = (ranges: string) =>
  `COALESCE((SELECT sum(extract(epoch FROM upper(r) - lower(r)) * 1000) FROM unnest(${ranges}) r), 0)::float8`;

/**
 * SQL: the rows of a table that overlap a day, if the agent's rows do not overlap each other: those that start within
 * the day, and the last one before it. Both parts read a few entries of the index on the agent and the start.
 * The upper bound is the end of the day and not d.until, for which Postgres would not search the index.
 */
const rowsOverlappingDaySql = (columns: string, table: string, start: string) => `
  (SELECT ${columns} FROM ${table}
   WHERE agent_id = $2 AND organization_id = $1 AND ${start} >= d.starts AND ${start} < d.ends)
  UNION ALL
  (SELECT ${columns} FROM ${table}
   WHERE agent_id = $2 AND organization_id = $1 AND ${start} < d.starts ORDER BY ${start} DESC LIMIT 1)`;

/**
 * SQL: the times of each day in which the machine was used, on and off. An idle period records only for how long the
 * machine was on, which is counted from its start, because the machine stays on after a run until it is stopped. The
 * machine is also on between two such times that are at most a minute apart: it cannot be stopped and started again
 * within a minute.
 */
const days = `
  SELECT d.day::text AS day, extract(epoch FROM d.ends - d.starts)::float8 * 1000 AS day_ms, runs,
         ${sumRangesMsSql('used')} AS used_ms, ${sumRangesMsSql('on_all')} AS on_ms, ${sumRangesMsSql('off')} AS off_ms,
         ${sumRangesMsSql('elapsed - on_all - off')} AS unknown_ms
  FROM agent a
  JOIN organization_settings s ON s.organization_id = a.organization_id
  CROSS JOIN generate_series($3::timestamp, $4::timestamp, interval '1 day') AS midnight
  CROSS JOIN LATERAL (
    SELECT midnight::date AS day, midnight AT TIME ZONE s.timezone AS starts,
           (midnight + interval '1 day') AT TIME ZONE s.timezone AS ends,
           GREATEST(midnight AT TIME ZONE s.timezone,
                    LEAST((midnight + interval '1 day') AT TIME ZONE s.timezone, muster_now())) AS until
  ) d
  CROSS JOIN LATERAL (
    SELECT tstzmultirange(tstzrange(d.starts, d.until)) AS whole,
           tstzmultirange(tstzrange(GREATEST(d.starts, LEAST(a.created_at, d.until)), d.until)) AS elapsed,
           tstzmultirange(tstzrange(LEAST(state_since, muster_now()), muster_now())) AS state,
           a.status IN ${statusListSql(offStatuses)} AS is_off
    FROM (SELECT CASE WHEN a.status IN ${statusListSql(offStatuses)} THEN a.status_since
                      ELSE COALESCE(a.on_since, muster_now()) END AS state_since) AS now_state
  ) t
  CROSS JOIN LATERAL (
    SELECT COALESCE(range_agg(tstzrange(started_at, GREATEST(started_at, COALESCE(finished_at, muster_now())))), '{}')
             * t.whole AS used,
           (count(*) FILTER (WHERE finished_at >= d.starts AND finished_at < d.ends))::int AS runs
    FROM (${rowsOverlappingDaySql('started_at, finished_at', 'job', 'started_at')}) AS run
  ) r
  CROSS JOIN LATERAL (
    SELECT COALESCE(range_agg(tstzrange(began_at, LEAST(ends_at, began_at + on_ms * interval '1 millisecond'))), '{}')
             * t.whole AS idle_on,
           COALESCE(range_agg(tstzrange(began_at, ends_at)), '{}') * t.whole AS idle
    FROM (SELECT began_at, on_ms, GREATEST(began_at, COALESCE(ended_at, muster_now())) AS ends_at
          FROM (${rowsOverlappingDaySql('began_at, ended_at, on_ms', 'agent_idle', 'began_at')}) AS period
         ) AS period
    WHERE on_ms IS NOT NULL
  ) i
  CROSS JOIN LATERAL (
    SELECT COALESCE(range_agg(tstzrange(lower(span), CASE WHEN next - upper(span) <= interval '1 minute'
                                                          THEN next ELSE upper(span) END)), '{}') AS on_all
    FROM (SELECT span, lead(lower(span)) OVER (ORDER BY span) AS next
          FROM unnest(used + idle_on + CASE WHEN is_off THEN '{}' ELSE t.state * t.whole END) AS span) AS spans
  ) o
  CROSS JOIN LATERAL (
    SELECT (idle + CASE WHEN is_off THEN t.state * t.whole ELSE '{}' END) - on_all AS off
  ) f
  WHERE a.id = $2 AND a.organization_id = $1
  ORDER BY midnight`;

/** Returns for each day how long an agent's machine was on, used by runs, idle and off. The agent must exist. */
export async function readMachineTime(
  database: Database,
  organizationId: string,
  { agentId, query }: { agentId: string; query: MachineTimeQuery },
): Promise<MachineTime> {
  const { from, to } = await completeRequestedPeriod(database, organizationId, query);
  const rows = await database.query<DayRow>(
    { organizationId },
    days,
    [organizationId, agentId, from, to],
    'machine_time',
  );
  const sum = (pick: (row: DayRow) => number) => rows.reduce((total, row) => total + pick(row), 0);
  return {
    from,
    to,
    total: toMachineHours({
      onMs: sum(({ onMs }) => onMs),
      usedMs: sum(({ usedMs }) => usedMs),
      offMs: sum(({ offMs }) => offMs),
      unknownMs: sum(({ unknownMs }) => unknownMs),
      runs: sum(({ runs }) => runs),
    }),
    days: rows.map((row) => ({ day: row.day, hours: millisecondsToHours(row.dayMs), ...toMachineHours(row) })),
  };
}

/** Completes the requested period. By default it is the last thirty days in the organization's time zone. */
async function completeRequestedPeriod(database: Database, organizationId: string, query: MachineTimeQuery) {
  const [period] = await database.query<{ from: string; to: string }>(
    { organizationId },
    `SELECT COALESCE($2::date, GREATEST(last - 29, '0001-01-01'))::text AS "from", last::text AS "to"
     FROM (SELECT COALESCE($3::date, (muster_now() AT TIME ZONE timezone)::date) AS last
           FROM organization_settings WHERE organization_id = $1) AS period`,
    [organizationId, query.from ?? null, query.to ?? null],
    'machine_time_period',
  );
  const { from, to } = period!;
  // The field that the caller sent; `to` has a default.
  const field = query.to === undefined ? 'from' : 'to';
  const count = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (count < 1) throw invalidFieldError(field, 'to must not be before from');
  if (count > maxMachineTimeDays)
    throw invalidFieldError(field, `from and to must not be more than ${maxMachineTimeDays} days apart`);
  return { from, to };
}

function toMachineHours({ onMs, usedMs, offMs, unknownMs, runs }: Omit<DayRow, 'day' | 'dayMs'>) {
  return {
    onHours: millisecondsToHours(onMs),
    usedHours: millisecondsToHours(usedMs),
    idleHours: millisecondsToHours(onMs - usedMs),
    offHours: millisecondsToHours(offMs),
    unknownHours: millisecondsToHours(unknownMs),
    runs,
  };
}
