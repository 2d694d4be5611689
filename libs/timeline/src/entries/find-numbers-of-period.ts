import type { Database } from '@muster/database';

/**
 * Returns the range of entry numbers of an agent's timeline in a period: greater than `after`, up to `upto`. Numbers
 * increase with the time at which they are assigned. So a binary search finds the start and the end of the period
 * without reading all earlier entries. The range has a margin of two hours at each end, because the times of concurrent
 * entries may not be in the order of their numbers. This is a separate statement, so that Postgres can plan the list's
 * statement with the found numbers.
 */
export async function findNumbersOfPeriod(
  database: Database,
  { organizationId, agentId }: { organizationId: string; agentId: string },
  { from, to }: { from?: string; to?: string },
): Promise<{ after: string; upto: string }> {
  const values: unknown[] = [organizationId, agentId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const [numbers] = await database.query<{ after: string; upto: string }>(
    { organizationId },
    `SELECT (${from ? lastNumberBeforeSql(Date.parse(from) - slackMs, addParameter, lowest) : lowest})::text AS after,
            (${to ? lastNumberBeforeSql(Date.parse(to) + slackMs, addParameter, highest) : highest})::text AS upto`,
    values,
  );
  return numbers!;
}

const slackMs = 2 * 3_600_000;
const lowest = '0';
const highest = '9223372036854775807';

/**
 * SQL for the last number that was assigned before the time, or for the number before the first one of that month. If
 * the agent has no entry in that month, the result is `unknown`.
 */
function lastNumberBeforeSql(time: number, addParameter: (value: unknown) => string, unknown: string): string {
  const at = new Date(time);
  const monthSql = (ahead: number) =>
    addParameter(new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead, 1)));
  const ofMonth = `agent_id = $2 AND organization_id = $1 AND recorded_at >= ${monthSql(0)} AND recorded_at < ${monthSql(1)}`;
  return `WITH RECURSIVE halves (before, upto) AS (
      SELECT (SELECT min(seq) FROM timeline_entry WHERE ${ofMonth}) - 1,
             (SELECT max(seq) FROM timeline_entry WHERE ${ofMonth})
      UNION ALL
      SELECT CASE WHEN next.recorded_at < ${addParameter(at)} THEN next.seq ELSE before END,
             CASE WHEN next.recorded_at < ${addParameter(at)} THEN upto ELSE (before + upto) / 2 END
      FROM halves LEFT JOIN LATERAL (
        SELECT seq, recorded_at FROM timeline_entry WHERE ${ofMonth} AND seq > (before + upto) / 2 ORDER BY seq LIMIT 1
      ) next ON true
      WHERE before < upto)
    SELECT COALESCE(max(before), ${unknown}) FROM halves`;
}
