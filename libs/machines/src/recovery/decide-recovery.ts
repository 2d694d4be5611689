import type { AgentStatus } from '@muster/contracts';
import type { AgentEntity } from '@muster/database';
import { agentMoves } from '../life/agent-life';

/** The recovery steps in the order in which they are tried. */
const recoverySteps = ['resync', 'repair', 'restart', 'reboot'] as const;
export type RecoveryStep = (typeof recoverySteps)[number];

export interface RecoveryFacts extends Pick<AgentEntity, 'status' | 'provider'> {
  /** Number of unhealthy heartbeats in a row since the last attempt or the last healthy heartbeat. */
  unhealthyChecks: AgentEntity['recoveryChecks'];
  /**
   * Whether a run on the agent reported recently. If it did, the worker is working, even if it reports that it is
   * unhealthy.
   */
  runReports: boolean;
  /** The last step that was tried since the agent was healthy; null if none was. */
  last: RecoveryStep | null;
  /** The time at which each step was last tried. */
  triedAt: Partial<Record<RecoveryStep, Date>>;
}

export type RecoveryDecision = { step: RecoveryStep; reason: string } | { step: null; reason: string };

export const checksUntilAttempt = 3;
const restMs = 10 * 60_000;
const reportsAtAll: readonly AgentStatus[] = agentMoves.recovery_reboot.from;

/**
 * Decides which recovery step is tried now for an unhealthy agent. Returns the reason, or the reason for which no step
 * is tried.
 */
export function decideRecovery(facts: RecoveryFacts, now: Date): RecoveryDecision {
  const { status, provider, unhealthyChecks, runReports, last, triedAt } = facts;
  if (unhealthyChecks < checksUntilAttempt) return { step: null, reason: `unhealthy ${unhealthyChecks} times` };
  if (!reportsAtAll.includes(status)) return { step: null, reason: `it is ${status}` };
  if (runReports) return { step: null, reason: 'a run on it still reports' };
  const from = last ? recoverySteps.indexOf(last) + 1 : 0;
  const inTurn = [...recoverySteps.slice(from), ...recoverySteps.slice(0, from)];
  const mayRetryStep = (step: RecoveryStep) => !triedAt[step] || now.getTime() - triedAt[step].getTime() >= restMs;
  const step = inTurn.find((each) => mayRetryStep(each) && !(each === 'reboot' && provider === 'external'));
  if (!step) return { step: null, reason: 'every recovery step was tried within the last 10 minutes' };
  const since = last ? ` after ${stepLabels[last]}, which did not help` : '';
  return { step, reason: `unhealthy ${unhealthyChecks} times in a row${since}` };
}

/** The names of the steps on the timeline. */
export const stepLabels: Record<RecoveryStep, string> = {
  resync: 're-sync of tunnel and commands',
  repair: 'repair of its credentials',
  restart: 'restart of the worker',
  reboot: 'reboot of the machine',
};
