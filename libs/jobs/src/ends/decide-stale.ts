import { isOff, isOn } from '@muster/agents';
import type { AgentEntity, JobEntity, OrganizationSettingsEntity } from '@muster/database';

export interface StaleFacts extends Pick<JobEntity, 'startedAt' | 'maxRuntimeMs' | 'stalledAt'> {
  /** `queued` is a job that its agent acknowledged but did not start. */
  status: Extract<JobEntity['status'], 'queued' | 'running'>;
  agentStatus: AgentEntity['status'];
  /** Time of the last report of the run: a heartbeat, a step, a log line. */
  lastReportAt: Date;
  /** Time of the last step, claim, percentage or log line. */
  progressAt: Date;
  /** Whether the run waits for a person; no progress is expected until then. */
  isAsking: boolean;
  failStalled: OrganizationSettingsEntity['failStalledRuns'];
}

export interface StaleLimits {
  /** Time after which a run without reports is lost. */
  lostAfterMs: number;
  /** When the service was restored from a backup. A run without a report since then may have ended long ago. */
  restoredAt?: Date;
  /** Time after which a run without progress is stalled; with 0, no run is. */
  stalledAfterMs: number;
}

export type StaleDecision =
  | { action: 'none' }
  | { action: 'report'; reason: string }
  | { action: 'fail'; code: 'execution_timeout' | 'agent_not_ready' | 'lost_in_recovery'; reason: string };

const none: StaleDecision = { action: 'none' };

/** Decides whether a job is failed or reported as stalled, and why. */
export function decideStale(
  facts: StaleFacts,
  { lostAfterMs, stalledAfterMs, restoredAt }: StaleLimits,
  now: Date,
): StaleDecision {
  const { status, startedAt, maxRuntimeMs } = facts;
  const ago = (date: Date) => now.getTime() - date.getTime();
  if (restoredAt && facts.lastReportAt < restoredAt) {
    if (ago(restoredAt) < lostAfterMs) return none;
    const reason =
      'The service was restored from a backup in which the run was in progress, and its worker does not report it.';
    return { action: 'fail', code: 'lost_in_recovery', reason };
  }
  if (status === 'running' && startedAt && ago(startedAt) >= maxRuntimeMs) {
    return {
      action: 'fail',
      code: 'execution_timeout',
      reason: `The run exceeded its limit of ${spanOf(maxRuntimeMs)}.`,
    };
  }
  if (ago(facts.lastReportAt) >= lostAfterMs) {
    return {
      action: 'fail',
      code: 'agent_not_ready',
      reason: `${lossReason(facts)} (${spanOf(ago(facts.lastReportAt))}).`,
    };
  }
  if (status !== 'running' || facts.isAsking || stalledAfterMs === 0 || ago(facts.progressAt) < stalledAfterMs)
    return none;
  const reason = `The run made no progress for ${spanOf(ago(facts.progressAt))}.`;
  if (facts.failStalled) return { action: 'fail', code: 'execution_timeout', reason };
  const isReported = facts.stalledAt !== null && facts.stalledAt > facts.progressAt;
  return isReported ? none : { action: 'report', reason };
}

function lossReason({ status, agentStatus }: StaleFacts): string {
  if (!isOn(agentStatus)) {
    return isOff(agentStatus) ? `The agent was ${agentStatus}` : 'The agent went offline';
  }
  return status === 'queued'
    ? 'The agent accepted the job but did not start it'
    : 'The agent no longer reports the run';
}

function spanOf(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return `${Math.round(ms / 1000)} s`;
  return minutes < 120 ? `${Math.round(minutes)} min` : `${Math.round(minutes / 6) / 10} h`;
}
