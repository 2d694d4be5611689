import type { Database } from '@muster/database';

/**
 * Between which numbers an agent's entries of a period lie: above `after`, up to `upto`. Numbers grow with the time at
 * which they were given, so in the month that a period begins or ends in, halving finds the place where walking along
 * would go through all that lies before it. Two hours are left at each end: entries that wait for one another may change
 * places. It is asked for by itself, so that the list's statement is planned with the numbers.
 */
export async function numbersOfPeriod(
  database: Database,
  { organizationId, agentId }: { organizationId: string; agentId: string },
  { from, to }: { from?: string; to?: string },
): Promise<{ after: string; upto: string }> {
  const values: unknown[] = [organizationId, agentId];
  const placed = (value: unknown) => `$${values.push(value)}`;
  const [numbers] = await database.query<{ after: string; upto: string }>(
    { organizationId },
    `SELECT (${from ? lastBefore(Date.parse(from) - slackMs, placed, lowest) : lowest})::text AS after,
            (${to ? lastBefore(Date.parse(to) + slackMs, placed, highest) : highest})::text AS upto`,
    values,
  );
  return numbers!;
}

const slackMs = 2 * 3_600_000;
const lowest = '0';
const highest = '9223372036854775807';

/**
 * The last number given before that time, or the one before its month's first; `unknown` where the agent said nothing in
 * that month.
 */
function lastBefore(time: number, placed: (value: unknown) => string, unknown: string): string {
  const at = new Date(time);
  const month = (ahead: number) => placed(new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead, 1)));
  const ofMonth = `agent_id = $2 AND organization_id = $1 AND recorded_at >= ${month(0)} AND recorded_at < ${month(1)}`;
  return `WITH RECURSIVE halves (before, upto) AS (
      SELECT (SELECT min(seq) FROM timeline_entry WHERE ${ofMonth}) - 1,
             (SELECT max(seq) FROM timeline_entry WHERE ${ofMonth})
      UNION ALL
      SELECT CASE WHEN next.recorded_at < ${placed(at)} THEN next.seq ELSE before END,
             CASE WHEN next.recorded_at < ${placed(at)} THEN upto ELSE (before + upto) / 2 END
      FROM halves LEFT JOIN LATERAL (
        SELECT seq, recorded_at FROM timeline_entry WHERE ${ofMonth} AND seq > (before + upto) / 2 ORDER BY seq LIMIT 1
      ) next ON true
      WHERE before < upto)
    SELECT COALESCE(max(before), ${unknown}) FROM halves`;
}
