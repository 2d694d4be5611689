import { acquireAdvisoryLock, type Database, type Transaction } from '@muster/database';
import { getWakeDelayMs, readLastWakeFailures, requestWake } from '@muster/machines';
import { decideBillingGate, readBillingLimits } from '@muster/pricing';
import {
  type ComingAgent,
  decideMachineWakes,
  type UnplacedJob,
  type Wake,
  type WakeableAgent,
} from '../dispatch/decide-wakes';
import { firstJobsOfGroupSql, isStartableSql, startOrderSql, waitingTargetGroupsSql } from './unplaced-queue';

/** Maximum number of waiting jobs for which wakes are decided at once. */
const maxJobs = 200;

export interface WakeParts {
  now: () => Date;
  wakeTimeoutMs: number;
}

/**
 * Wakes agents for the organization's jobs without an agent, one agent in a transaction. Decisions about one
 * organization follow one another, so that two of them never wake two agents for one job. Returns the number of wakes.
 */
export async function wakeAgentsForJobs(
  database: Database,
  organizationId: string,
  { now, wakeTimeoutMs }: WakeParts,
): Promise<number> {
  for (let wakes = 0; ; wakes += 1) {
    const isWoken = await database.transaction({ organizationId }, async (tx) => {
      await acquireAdvisoryLock(tx, 'placement wakes', organizationId);
      const wake = await decideNextWake(tx, organizationId, now());
      if (!wake) return false;
      const { agentId, jobId } = wake;
      const reason = 'a queued job requires labels that the agent has';
      await requestWake(tx, { organizationId, agentId, jobId, source: 'dispatcher', reason, timeoutMs: wakeTimeoutMs });
      return true;
    });
    if (!isWoken || wakes === maxJobs) return wakes;
  }
}

async function decideNextWake(tx: Transaction, organizationId: string, now: Date): Promise<Wake | null> {
  if (!decideBillingGate(await readBillingLimits(tx, organizationId, now)).canLaunchRuns) return null;
  const [facts] = await tx.query<Facts>(wakeFacts, [organizationId], 'wake_facts');
  if (!facts?.autoWake || !facts.jobs || !facts.wakeable) return null;
  const { jobs, coming, maxConcurrentRuns, running } = facts;
  const room = maxConcurrentRuns === null ? null : maxConcurrentRuns - running;
  let { wakeable } = facts;
  for (;;) {
    const [wake] = decideMachineWakes({ jobs, coming: coming ?? [], wakeable, room });
    if (!wake || !(await mustWaitAfterFailedWakes(tx, wake.agentId, now))) return wake ?? null;
    wakeable = wakeable.filter(({ agentId }) => agentId !== wake.agentId);
  }
}

/** Whether earlier failed wakes forbid another wake of the agent for some time. */
async function mustWaitAfterFailedWakes(tx: Transaction, agentId: string, now: Date): Promise<boolean> {
  const { consecutive, lastAt } = await readLastWakeFailures(tx, agentId);
  return lastAt !== null && lastAt.getTime() + getWakeDelayMs(consecutive) > now.getTime();
}

interface Facts {
  autoWake: boolean;
  maxConcurrentRuns: number | null;
  running: number;
  jobs: UnplacedJob[] | null;
  coming: ComingAgent[] | null;
  wakeable: WakeableAgent[] | null;
}

const timeToEpochMsSql = (time: string) => `extract(epoch FROM ${time}) * 1000`;
const isFree = `a.organization_id = $1 AND a.placement AND a.drain IS NULL AND a.current_job_id IS NULL
  AND a.autopilot_session_id IS NULL AND a.clearing_command_id IS NULL`;
const isBeingWoken = `EXISTS (SELECT FROM agent_wake w WHERE w.agent_id = a.id AND w.state = 'open')`;

const wakeFacts = `
  SELECT s.vm_auto_wake_on_job AS auto_wake, s.max_concurrent_runs,
    (SELECT count(*)::int FROM agent WHERE organization_id = $1 AND current_job_id IS NOT NULL) AS running,
    (SELECT json_agg(json_build_object('jobId', q.id, 'labels', q.target_labels, 'priority', q.priority,
              'queuedAtMs', ${timeToEpochMsSql('q.queued_at')}) ORDER BY q.priority DESC, q.queued_at, q.id)
     FROM (SELECT heads.*, g.target_labels FROM ${waitingTargetGroupsSql('$1')} g
           CROSS JOIN LATERAL ${firstJobsOfGroupSql('$1', 'g.target_group', maxJobs)} heads
           ORDER BY ${startOrderSql} LIMIT ${maxJobs}) q) AS jobs,
    (SELECT json_agg(json_build_object('agentId', a.id, 'labels', a.labels, 'own', (
              SELECT json_build_object('priority', j.priority, 'queuedAtMs', ${timeToEpochMsSql('j.queued_at')}) FROM job j
              WHERE j.agent_id = a.id AND ${isStartableSql} ORDER BY j.priority DESC, j.queued_at, j.id LIMIT 1))
            ORDER BY a.id)
     FROM agent a WHERE ${isFree} AND (a.status IN ('online', 'starting', 'rebooting')
       OR (a.status <> 'terminated' AND ${isBeingWoken}))) AS coming,
    (SELECT json_agg(json_build_object('agentId', a.id, 'labels', a.labels, 'bootMs', a.boot_ms) ORDER BY a.id)
     FROM agent a WHERE ${isFree} AND a.status IN ('stopped', 'offline') AND a.provider <> 'external'
       AND NOT ${isBeingWoken}) AS wakeable
  FROM organization_settings s WHERE s.organization_id = $1`;

export { wakeFacts, type Facts as WakeFactsRow };
