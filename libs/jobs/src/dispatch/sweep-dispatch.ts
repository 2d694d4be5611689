import { markDispatchSweptSql } from '@muster/agents';
import type { AgentEntity, Database } from '@muster/database';
import { Round } from '@muster/platform';
import type { Dispatch } from './dispatch';

/**
 * Looks at every agent that may have a job to start and nobody rang for: a retry whose delay is over, a place that
 * came free, a message that was lost. Agents that cannot take one are looked at once a minute. Each kind has its turn,
 * and of a kind whoever was looked at longest ago comes first; a round that has no time left says whose turn is next.
 * So no number of agents that wait keeps another from being looked at.
 */
export async function sweepDispatch(
  database: Database,
  dispatch: Pick<Dispatch, 'startNext'>,
  round = new Round('sweep dispatch'),
  atOnce = 100,
): Promise<Record<'looked' | 'started' | 'woken' | 'failed', number>> {
  const counts = { looked: 0, started: 0, woken: 0, failed: 0 };
  const began = database.now();
  const first = (round.cursors.get(turn) as number | undefined) ?? 0;
  round.cursors.delete(turn);
  let kinds = [...statements.slice(first), ...statements.slice(0, first)];
  for (let [kind, ...others] = kinds; kind; [kind, ...others] = kinds) {
    const agents = await database.queryUnflushed<Pick<AgentEntity, 'id'>>('system', kind, [began, atOnce]);
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
    kinds = agents.length < atOnce ? others : [...others, kind];
    if (!round.hasTime) {
      if (kinds[0]) round.cursors.set(turn, statements.indexOf(kinds[0]));
      break;
    }
  }
  return counts;
}

const turn = 'dispatch';

/** A job that nobody has looked at since its time came. */
const isDue = `j.waiting_reason IS NULL OR j.waiting_reason = 'retry_delay'`;
/** An agent that is there and free, and waits for a place or for its organization. */
const isThere = `a.status = 'online'`;
/** For the others something must change first, and who changes it enqueues it. */
const waitsLong = `a.dispatch_swept_at IS NULL OR a.dispatch_swept_at < muster_now() - interval '1 minute'
  OR a.dispatch_swept_at > muster_now()`;

/** Of two replicas that sweep at once each takes its own. A look that is still to come was before a clock was set back. */
const statements = [isDue, isThere, waitsLong].map((candidates) =>
  markDispatchSweptSql(`
    SELECT a.id FROM agent a
    WHERE EXISTS (
        SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued' AND j.not_before <= muster_now()
          AND (a.current_job_id IS NULL OR (a.current_job_id = j.id AND j.dispatched_at < muster_now() - interval '5 seconds'))
          AND (${candidates}))
      AND (a.dispatch_swept_at IS NULL OR a.dispatch_swept_at < $1 OR a.dispatch_swept_at > muster_now())
    ORDER BY a.dispatch_swept_at NULLS FIRST, a.id LIMIT $2
    FOR UPDATE SKIP LOCKED`),
);
