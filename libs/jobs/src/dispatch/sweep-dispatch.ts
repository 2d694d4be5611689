import { markSwept } from '@muster/agents';
import type { AgentEntity, Database } from '@muster/database';
import { Round } from '@muster/platform';
import type { Dispatch } from './dispatch';

/**
 * Looks at every agent that may have a job to start and nobody rang for: a retry whose delay is over, a place that
 * came free, a message that was lost. Agents that cannot take one are looked at once a minute, and behind the others.
 * Whoever was looked at longest ago comes first, so that no number of agents that wait keeps another from its turn.
 */
export async function sweepDispatch(
  database: Database,
  dispatch: Pick<Dispatch, 'startNext'>,
  round = new Round('sweep dispatch'),
  atOnce = 100,
): Promise<Record<'looked' | 'started' | 'woken' | 'failed', number>> {
  const counts = { looked: 0, started: 0, woken: 0, failed: 0 };
  const [{ began } = { began: new Date() }] = await database.query<{ began: Date }>('system', 'SELECT now() AS began');
  for (const candidates of [mayStart, waitsLong]) {
    for (;;) {
      const agents = await database.queryUnflushed<Pick<AgentEntity, 'id'>>('system', take(candidates), [
        began,
        atOnce,
      ]);
      for (const { id } of agents) {
        counts.looked += 1;
        try {
          const { action } = await dispatch.startNext(id);
          if (action === 'start') counts.started += 1;
          if (action === 'wake') counts.woken += 1;
          if (action === 'fail') counts.failed += 1;
        } catch (error) {
          round.fail(`agent ${id}`, error);
        }
      }
      if (!round.hasTime) return counts;
      if (agents.length < atOnce) break;
    }
  }
  return counts;
}

/** An agent that is there and free, or a job that nobody has looked at since its time came. */
const mayStart = `(a.status = 'online' OR j.waiting_reason IS NULL OR j.waiting_reason = 'retry_delay')`;
/** For the others something must change first, and who changes it enqueues it. */
const waitsLong = `a.dispatch_swept_at IS NULL OR a.dispatch_swept_at < now() - interval '1 minute'`;

/** Of two replicas that sweep at once each takes its own. */
const take = (candidates: string) =>
  markSwept(`
    SELECT a.id FROM agent a
    WHERE EXISTS (
        SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued' AND j.not_before <= now()
          AND (a.current_job_id IS NULL OR (a.current_job_id = j.id AND j.dispatched_at < now() - interval '5 seconds'))
          AND (${candidates}))
      AND (a.dispatch_swept_at IS NULL OR a.dispatch_swept_at < $1)
    ORDER BY a.dispatch_swept_at NULLS FIRST, a.id LIMIT $2
    FOR UPDATE SKIP LOCKED`);
