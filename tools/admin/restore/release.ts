import { AdminError } from '../admin-error';
import { connectTo, queryRows } from '../backup/dump-database';

interface Missed {
  organization: string;
  schedule: string;
  due: Date;
}

export interface Released {
  backup: string;
  /** Time of an earlier release, after which this one changed nothing. */
  earlier: Date | null;
  /** Schedules that became due between the backup and now, by organization. */
  missed: Missed[];
  /** Number of runs that were running at the time of the backup. */
  underWay: number;
}

/** Releases a restored service: its machines are managed and its schedules run again. */
export async function resumeSchedulesAfterRestore(
  databaseUrl: string,
  { fireMissed }: { fireMissed: boolean },
): Promise<Released> {
  const client = await connectTo(databaseUrl);
  try {
    await client.query('BEGIN');
    const [recovery] = await queryRows<{ backup: string; releasedAt: Date | null }>(
      client,
      'SELECT backup, released_at AS "releasedAt" FROM recovery_hold FOR UPDATE',
    );
    if (!recovery) throw new AdminError('This service was not restored from a backup: there is nothing to release.');
    if (recovery.releasedAt) return { backup: recovery.backup, earlier: recovery.releasedAt, missed: [], underWay: 0 };
    const missed = await queryRows<Missed>(client, missedSchedules);
    const [{ underWay }] = await queryRows<{ underWay: number }>(client, runsUnderWay);
    await client.query('UPDATE recovery_hold SET released_at = clock_timestamp(), fire_missed = $1', [fireMissed]);
    await client.query('COMMIT');
    return { backup: recovery.backup, earlier: null, missed, underWay };
  } finally {
    await client.end();
  }
}

const missedSchedules = `
  SELECT o.name AS organization, s.name AS schedule, s.next_run_at AS due
  FROM schedule s JOIN organization o ON o.id = s.organization_id
  WHERE s.enabled AND s.next_run_at <= now() ORDER BY o.name, s.next_run_at, s.id`;

const runsUnderWay = `SELECT count(*)::int AS "underWay" FROM job WHERE status = 'running'`;
