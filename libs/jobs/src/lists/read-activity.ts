import { type ActivityQuery, AppError, type JobActivity } from '@muster/contracts';
import type { Database } from '@muster/database';

const maxDays = 31;
const dayMs = 24 * 60 * 60_000;

interface HourRow {
  at: Date;
  completed: number;
  failed: number;
  cancelled: number;
}

/** Counts the ended runs of each hour by their status. Hours without an ended run are left out. */
export async function readActivity(
  database: Database,
  organizationId: string,
  { from, to, now }: ActivityQuery & { now: Date },
): Promise<JobActivity> {
  const until = to ? new Date(to) : now;
  const since = from ? new Date(from) : new Date(until.getTime() - dayMs);
  const days = (until.getTime() - since.getTime()) / dayMs;
  if (days < 0 || days > maxDays) {
    const message = `to must be at most ${maxDays} days after \`from\`, and not before it.`;
    throw new AppError('invalid_payload', { errors: [{ field: to ? 'to' : 'from', message }] });
  }
  const rows = await database.query<HourRow>(
    { organizationId },
    `SELECT date_trunc('hour', finished_at, o.timezone) AS at,
            (count(*) FILTER (WHERE j.status = 'completed'))::int AS completed,
            (count(*) FILTER (WHERE j.status = 'failed'))::int AS failed,
            (count(*) FILTER (WHERE j.status = 'cancelled'))::int AS cancelled
     FROM job j JOIN organization_settings o ON o.organization_id = j.organization_id
     WHERE j.organization_id = $1 AND j.finished_at >= $2 AND j.finished_at < $3
     GROUP BY 1 ORDER BY 1`,
    [organizationId, since, until],
    'read_activity',
  );
  return { hours: rows.map(({ at, ...counts }) => ({ at: at.toISOString(), ...counts })) };
}
