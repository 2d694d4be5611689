import type { AgentStatus } from '@muster/contracts';
import type { AgentEntity } from '@muster/database';
import { agentMoves } from '../lifecycle/agent-life';

/** In this order. */
const recoverySteps = ['resync', 'repair', 'restart', 'reboot'] as const;
export type RecoveryStep = (typeof recoverySteps)[number];

export interface RecoveryFacts extends Pick<AgentEntity, 'status' | 'provider'> {
  /** In a row, since the last attempt or the last healthy heartbeat. */
  unhealthyChecks: AgentEntity['recoveryChecks'];
  /** A run of it spoke lately: then the worker does its work, whatever it says of itself. */
  runReports: boolean;
  /** What was tried last since it was healthy. */
  last: RecoveryStep | null;
  /** When each was tried last at all. */
  triedAt: Partial<Record<RecoveryStep, Date>>;
}

export type RecoveryDecision = { step: RecoveryStep; reason: string } | { step: null; reason: string };

export const checksUntilAttempt = 3;
const restMs = 10 * 60_000;
const reportsAtAll: readonly AgentStatus[] = agentMoves.mend.from;

/** What is tried now to make an unhealthy worker well again, and why that, or why nothing. */
export function decideRecovery(facts: RecoveryFacts, now: Date): RecoveryDecision {
  const { status, provider, unhealthyChecks, runReports, last, triedAt } = facts;
  if (unhealthyChecks < checksUntilAttempt) return { step: null, reason: `unhealthy ${unhealthyChecks} times` };
  if (!reportsAtAll.includes(status)) return { step: null, reason: `it is ${status}` };
  if (runReports) return { step: null, reason: 'a run on it still reports' };
  const from = last ? recoverySteps.indexOf(last) + 1 : 0;
  const inTurn = [...recoverySteps.slice(from), ...recoverySteps.slice(0, from)];
  const rested = (step: RecoveryStep) => !triedAt[step] || now.getTime() - triedAt[step].getTime() >= restMs;
  const step = inTurn.find((each) => rested(each) && !(each === 'reboot' && provider === 'external'));
  if (!step) return { step: null, reason: 'everything was tried within the last 10 minutes' };
  const since = last ? ` after ${words[last]}, which did not help` : '';
  return { step, reason: `unhealthy ${unhealthyChecks} times in a row${since}` };
}

/** Each as people read it. */
export const words: Record<RecoveryStep, string> = {
  resync: 're-sync of tunnel and commands',
  repair: 'repair of its credentials',
  restart: 'restart of the worker',
  reboot: 'reboot of the machine',
};
