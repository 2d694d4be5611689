import type { Database } from '@muster/database';
import type { Dispatch } from './dispatch';

/**
 * Looks at every agent that may have a job to start and nobody rang for: a retry whose delay is over, a place that
 * came free, a doorbell that was lost. Agents that cannot take one are looked at once a minute.
 */
export async function sweepDispatch(database: Database, dispatch: Dispatch): Promise<Record<string, number>> {
  const agents = await database.query<{ id: string }>(
    'system',
    `SELECT a.id FROM agent a
     WHERE EXISTS (
       SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued' AND j.not_before <= now()
         AND (a.current_job_id IS NULL OR (a.current_job_id = j.id AND j.dispatched_at < now() - interval '5 seconds'))
         AND (a.status = 'online' OR j.waiting_reason IS NULL OR j.waiting_reason = 'retry_delay'
              OR j.waiting_since < now() - interval '1 minute'))
     ORDER BY a.id LIMIT 500`,
  );
  const counts: Record<string, number> = { started: 0, woken: 0, failed: 0, errors: 0 };
  for (const { id } of agents) {
    try {
      const { action } = await dispatch.startNext(id);
      if (action === 'start') counts['started']! += 1;
      if (action === 'wake') counts['woken']! += 1;
      if (action === 'fail') counts['failed']! += 1;
    } catch {
      // One bad row never stops the rest; it is looked at again.
      counts['errors']! += 1;
    }
  }
  return counts;
}
