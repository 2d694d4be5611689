import type { TargetPreference } from '@muster/contracts';
import type { Database, JobEntity } from '@muster/database';
import { waitsForAccountSql } from '../accounts/accounts-sql';
import { waitsForKeySql } from '../dispatch/concurrency-keys';
import { decidePlacement, type FitCounts } from '../dispatch/decide-placement';
import type { Dispatch } from '../dispatch/dispatch';
import { type WakeParts, wakeAgentsForJobs } from './wake-agents';
import { setReasonOfTargetGroup, setReasonOfUnplacedJob } from './set-reasons';
import { countFittingAgentsSql, agentHasLabelsSql, isIdleAgentSql } from './fitting-agents';
import { startOrderSql } from './unplaced-queue';

interface Look extends Pick<JobEntity, 'id' | 'organizationId'> {
  targetGroup: string;
  targetPrefer: TargetPreference;
  autoWake: boolean;
  waitsForKey: boolean;
  waitsForAccount: boolean;
  idle: { agentId: string; lastActivityMs: number | null }[] | null;
  ahead: number;
  counts: FitCounts | null;
}

export interface PlacementParts extends WakeParts {
  database: Database;
  dispatch: Pick<Dispatch, 'startNextJob'>;
}

/**
 * Outcome of a placement. `gone`: it does not wait for a placement any more, for example because an agent has started
 * it concurrently, or it has failed.
 */
export type PlacementOutcome = 'started' | 'gone' | 'waiting';

/**
 * Starts a job without an agent on an idle agent that fits it, or records what the job waits for and wakes an agent. The agent starts its
 * own next job, which may be another one; then the next idle agent is tried.
 */
export async function placeJob(
  { database, dispatch, ...wakes }: PlacementParts,
  jobId: string,
  { wholeGroup = false } = {},
): Promise<PlacementOutcome> {
  const tried: string[] = [];
  for (;;) {
    const [look] = await database.query<Look>('system', lookAtAgents, [jobId, tried], 'look_at_agents');
    if (!look) return 'gone';
    const heldUp = look.waitsForKey ? 'concurrency_key' : look.waitsForAccount ? 'account_busy' : null;
    const decision = decidePlacement({
      prefer: look.targetPrefer,
      idle: look.idle ?? [],
      ahead: look.ahead,
      counts: look.counts,
      autoWake: look.autoWake,
      heldUp,
    });
    if (decision.action === 'wait') {
      const { organizationId, targetGroup } = look;
      await database.transaction({ organizationId }, async (tx) => {
        setReasonOfUnplacedJob(tx, { jobId, waiting: decision.waiting });
        // A full key or pool is the reason of this job alone; the others may need neither.
        if (wholeGroup && !heldUp)
          setReasonOfTargetGroup(tx, { organizationId, targetGroup, waiting: decision.waiting });
      });
      if (decision.mayWake && look.counts && look.counts.off > 0)
        await wakeAgentsForJobs(database, organizationId, wakes);
      return 'waiting';
    }
    const outcome = await dispatch.startNextJob(decision.agentId, undefined, { jobId, why: decision.why });
    // The agent could take the job, but the job waits for something else, or has failed.
    if (outcome.jobId === jobId)
      return outcome.action === 'start' ? 'started' : outcome.action === 'wait' ? 'waiting' : 'gone';
    // A job of the agent that failed before its start leaves the agent idle.
    if (outcome.action !== 'fail') tried.push(decision.agentId);
  }
}

/** Maximum number of idle agents among which one is chosen, the best by the job's preference. */
const maxIdle = 32;

/**
 * One statement, whatever the number of agents: those that could start the job now, best first, and how many of the jobs
 * with the same labels start before this one; only as many of these are counted as agents were found. The states of all
 * fitting agents are counted only if none is idle.
 */
const lookAtAgents = `
  SELECT j.id, j.organization_id, j.target_group, j.target_prefer, s.vm_auto_wake_on_job AS auto_wake,
         ${waitsForKeySql('j')} AS waits_for_key, ${waitsForAccountSql('j')} AS waits_for_account,
         i.idle,
         CASE WHEN json_array_length(i.idle) > 1 THEN (
           SELECT count(*) FILTER (WHERE (-f.priority, f.queued_at, f.id) < (-j.priority, j.queued_at, j.id))::int
           FROM (SELECT f.priority, f.queued_at, f.id FROM job f
                 WHERE f.organization_id = j.organization_id AND f.target_group = j.target_group
                   AND f.status = 'queued' AND f.agent_id IS NULL
                 ORDER BY ${startOrderSql} LIMIT json_array_length(i.idle)) f)
         ELSE 0 END AS ahead,
         CASE WHEN i.idle IS NULL THEN ${countFittingAgentsSql('j.organization_id', 'j.target_labels')} END AS counts
  FROM job j JOIN organization_settings s ON s.organization_id = j.organization_id
  CROSS JOIN LATERAL (
    SELECT json_agg(json_build_object('agentId', best.id, 'lastActivityMs', best.seconds * 1000)) AS idle
    FROM (SELECT a.id, extract(epoch FROM a.last_activity_at) AS seconds FROM agent a
          WHERE ${agentHasLabelsSql('a', 'j.organization_id', 'j.target_labels')} AND ${isIdleAgentSql('a')} AND a.id <> ALL($2::uuid[])
          ORDER BY CASE j.target_prefer WHEN 'spread' THEN 1 ELSE -1 END * COALESCE(extract(epoch FROM a.last_activity_at), 0), a.id
          LIMIT ${maxIdle}) best) i
  WHERE j.id = $1 AND j.status = 'queued' AND j.agent_id IS NULL AND j.cancel_requested_at IS NULL
    AND j.target_labels IS NOT NULL AND j.not_before <= muster_now()
    AND NOT EXISTS (SELECT FROM batch b WHERE b.id = j.batch_id AND b.cancel_requested_at IS NOT NULL)`;
