import { markAgentsSweptSql } from '@muster/machines';
import type { AgentEntity, Database } from '@muster/database';
import { Round } from '@muster/platform';
import type { Dispatch } from './dispatch';

/**
 * Dispatches jobs for which no queue message arrives: a retry whose delay has passed, a job that waited for a free
 * slot, or a job whose message was lost. Agents that cannot take a job are checked once a minute. There are three kinds
 * of agents, and the sweep checks a page of each kind in turn; within a kind, the agent that was checked longest ago
 * comes first. A round that runs out of time stores which kind is next, so agents that wait never prevent the check of
 * others.
 */
export async function sweepDispatch(
  database: Database,
  dispatch: Pick<Dispatch, 'startNextJob'>,
  round = new Round('sweep dispatch'),
  batchSize = 100,
): Promise<Record<'looked' | 'started' | 'woken' | 'failed', number>> {
  const counts = { looked: 0, started: 0, woken: 0, failed: 0 };
  const began = database.now();
  const first = (round.cursors.get(turn) as number | undefined) ?? 0;
  round.cursors.delete(turn);
  let kinds = [...statements.slice(first), ...statements.slice(0, first)];
  for (let [kind, ...others] = kinds; kind; [kind, ...others] = kinds) {
    const agents = await database.queryUnflushed<Pick<AgentEntity, 'id'>>('system', kind, [began, batchSize]);
    for (const { id } of agents) {
      counts.looked += 1;
      try {
        const { action } = await dispatch.startNextJob(id);
        if (action === 'start') counts.started += 1;
        if (action === 'wake') counts.woken += 1;
        if (action === 'fail') counts.failed += 1;
      } catch (error) {
        round.recordFailure(`agent ${id}`, error);
      }
    }
    kinds = agents.length < batchSize ? others : [...others, kind];
    if (!round.hasTime) {
      if (kinds[0]) round.cursors.set(turn, statements.indexOf(kinds[0]));
      break;
    }
  }
  return counts;
}

const turn = 'dispatch';

/** First kind: the agent has a job that was not checked since its start time passed. */
const isDue = `j.waiting_reason IS NULL OR j.waiting_reason = 'retry_delay'`;
/** Second kind: the agent is online, and its jobs wait for a slot or for a change of the organization. */
const isOnline = `a.status = 'online'`;
/**
 * Third kind: all other agents. Something must change before their jobs can start, and the code that makes the change
 * enqueues the agent.
 */
const waitsLong = `a.dispatch_swept_at IS NULL OR a.dispatch_swept_at < muster_now() - interval '1 minute'
  OR a.dispatch_swept_at > muster_now()`;

/**
 * SKIP LOCKED gives concurrent replicas different agents. A check time in the future was written before a clock was set
 * back, and counts as old.
 */
const statements = [isDue, isOnline, waitsLong].map((candidates) =>
  markAgentsSweptSql(`
    SELECT a.id FROM agent a
    WHERE EXISTS (
        SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued' AND j.not_before <= muster_now()
          AND (a.current_job_id IS NULL OR (a.current_job_id = j.id AND j.dispatched_at < muster_now() - interval '5 seconds'))
          AND (${candidates}))
      AND (a.dispatch_swept_at IS NULL OR a.dispatch_swept_at < $1 OR a.dispatch_swept_at > muster_now())
    ORDER BY a.dispatch_swept_at NULLS FIRST, a.id LIMIT $2
    FOR UPDATE SKIP LOCKED`),
);
