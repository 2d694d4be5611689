import { isOffStatus, isOnStatus } from '@muster/machines';
import type { AgentEntity, JobEntity, OrganizationSettingsEntity } from '@muster/database';

export interface StaleFacts extends Pick<JobEntity, 'startedAt' | 'maxRuntimeMs' | 'stalledAt'> {
  /** The status `queued` means a job that its agent acknowledged but did not start. */
  status: Extract<JobEntity['status'], 'queued' | 'running'>;
  agentStatus: AgentEntity['status'];
  /** Time of the run's last report: a heartbeat, a step or a log line. */
  lastReportAt: Date;
  /** Time of the run's last progress: a step, a claim, a new percentage or a log line. */
  progressAt: Date;
  /** Whether the run has an open question to a person; no progress is expected while it waits. */
  isAsking: boolean;
  failStalled: OrganizationSettingsEntity['failStalledRuns'];
}

export interface StaleLimits {
  /** Milliseconds after which a run without a report is lost. */
  lostAfterMs: number;
  /**
   * Time at which the service was restored from a backup. A run that has not reported since then may have ended long
   * ago.
   */
  restoredAt?: Date;
  /** Milliseconds after which a run without progress is stalled; 0 turns this check off. */
  stalledAfterMs: number;
}

export type StaleDecision =
  | { action: 'none' }
  | { action: 'report'; reason: string }
  | { action: 'fail'; code: 'execution_timeout' | 'agent_not_ready' | 'lost_in_recovery'; reason: string };

const none: StaleDecision = { action: 'none' };

/** Decides whether a job is failed or reported as stalled, and why. */
export function decideStaleJob(
  facts: StaleFacts,
  { lostAfterMs, stalledAfterMs, restoredAt }: StaleLimits,
  now: Date,
): StaleDecision {
  const { status, startedAt, maxRuntimeMs } = facts;
  const msSince = (date: Date) => now.getTime() - date.getTime();
  if (restoredAt && facts.lastReportAt < restoredAt) {
    if (msSince(restoredAt) < lostAfterMs) return none;
    const reason =
      'The service was restored from a backup in which the run was in progress, and its worker does not report it.';
    return { action: 'fail', code: 'lost_in_recovery', reason };
  }
  if (status === 'running' && startedAt && msSince(startedAt) >= maxRuntimeMs) {
    return {
      action: 'fail',
      code: 'execution_timeout',
      reason: `The run exceeded its limit of ${formatDuration(maxRuntimeMs)}.`,
    };
  }
  if (msSince(facts.lastReportAt) >= lostAfterMs) {
    return {
      action: 'fail',
      code: 'agent_not_ready',
      reason: `${describeLostRun(facts)} (${formatDuration(msSince(facts.lastReportAt))}).`,
    };
  }
  if (status !== 'running' || facts.isAsking || stalledAfterMs === 0 || msSince(facts.progressAt) < stalledAfterMs)
    return none;
  const reason = `The run made no progress for ${formatDuration(msSince(facts.progressAt))}.`;
  if (facts.failStalled) return { action: 'fail', code: 'execution_timeout', reason };
  const isReported = facts.stalledAt !== null && facts.stalledAt > facts.progressAt;
  return isReported ? none : { action: 'report', reason };
}

function describeLostRun({ status, agentStatus }: StaleFacts): string {
  if (!isOnStatus(agentStatus)) {
    return isOffStatus(agentStatus) ? `The agent was ${agentStatus}` : 'The agent went offline';
  }
  return status === 'queued'
    ? 'The agent accepted the job but did not start it'
    : 'The agent no longer reports the run';
}

function formatDuration(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return `${Math.round(ms / 1000)} s`;
  return minutes < 120 ? `${Math.round(minutes)} min` : `${Math.round(minutes / 6) / 10} h`;
}
