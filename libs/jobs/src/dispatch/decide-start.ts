import { canWakeFrom, describeMissingParts, decideWorkAnswer, listNeededParts } from '@muster/machines';
import type { AgentProvider, AgentStatus, MachinePart, WaitingReason } from '@muster/contracts';

export interface StartFacts {
  agent: {
    status: AgentStatus;
    provider: AgentProvider;
    drain: 'finish' | 'now' | null;
    /** The job that occupies the agent; null if there is none. */
    currentJobId: string | null;
    /** The autopilot session that occupies the agent. */
    autopilotSessionId?: string | null;
    /** Whether the worker is still killing the remaining processes of an ended job. */
    clearing?: boolean;
  };
  /** The first job of the agent's queue that may start; null if there is no such job. */
  head: { id: string; vaultKeys: string[]; nothingToRun?: boolean } | null;
  autoWake: boolean;
  /**
   * Time before which the agent is not woken again because earlier wakes failed; null if the agent may be woken now.
   */
  wakeRestsUntil: Date | null;
  gate: { canLaunchRuns: boolean; reason: string | null };
  maxConcurrentRuns: number | null;
  runningInOrganization: number;
  missingSecrets: string[];
  /** The concurrency keys of the job that are full. */
  fullKeys?: FullKey[];
  /** The pool that has no free account for the job. */
  busyPool?: string | null;
  /** The machine parts that the job needs and that the agent's worker last reported as missing. */
  missingParts?: MachinePart[];
}

export interface FullKey {
  key: string;
  most: number;
  held: number;
}

export type StartDecision =
  | { action: 'none'; reason: string }
  | { action: 'start'; reason: string }
  | { action: 'fail'; code: 'secret_missing' | 'agent_not_ready' | 'nothing_to_run' | 'machine_cannot'; reason: string }
  | { action: 'wake'; waiting: WaitingReason; reason: string }
  | { action: 'wait'; waiting: WaitingReason; reason: string; blocked?: boolean };

/** Decides whether the agent's first job can start now, and returns the reason if it cannot. */
export function decideJobStart(facts: StartFacts): StartDecision {
  const { agent, head, gate, autoWake } = facts;
  if (!head) return { action: 'none', reason: 'no queued job can start yet' };
  const work = decideWorkAnswer({ ...agent, autoWake });
  if (work.takes === 'never') return withoutAgent;
  if (head.nothingToRun) {
    return { action: 'fail', code: 'nothing_to_run', reason: 'the workflow has neither a script nor steps' };
  }
  if (agent.currentJobId) return decideToWait('agent_busy', `job ${agent.currentJobId} occupies the agent`);
  if (agent.autopilotSessionId)
    return decideToWait('agent_busy', `autopilot session ${agent.autopilotSessionId} occupies the agent`);
  if (agent.clearing)
    return decideToWait('agent_busy', 'the remaining processes of the agent’s last job are being killed');
  if (work.takes === 'after_drain') return drained;
  if (facts.missingSecrets.length) return decideFailureForMissingSecrets(facts.missingSecrets);
  if (!gate.canLaunchRuns) return decideToWait('billing_gate', gate.reason ?? 'the organization cannot launch runs');
  if (facts.maxConcurrentRuns !== null && facts.runningInOrganization >= facts.maxConcurrentRuns) {
    return decideToWait(
      'concurrency_limit',
      `${facts.runningInOrganization} of at most ${facts.maxConcurrentRuns} runs are in progress`,
    );
  }
  const [full] = facts.fullKeys ?? [];
  if (full)
    return decideToWait(
      'concurrency_key',
      `${full.held} of at most ${full.most} runs hold or will get the key ${full.key}`,
    );
  if (facts.busyPool) return decideToWait('account_busy', `no account of the pool ${facts.busyPool} is free`);
  const readiness = decideMachineReadiness(agent, facts);
  // A stopped machine is woken even if it lacked parts in its last boot. If the parts are still missing then, its
  // worker reports them and the job fails.
  return readiness.action === 'start' && facts.missingParts?.length
    ? decideFailureForMissingParts(facts.missingParts)
    : readiness;
}

/** Returns the machine parts that a run needs. Steps without a script or a bundle run in a browser. */
export function listPartsOfRun({ steps, bundle }: { steps: unknown[] | null; bundle: object | null }): MachinePart[] {
  return [...listNeededParts('run'), ...(steps?.length && !bundle ? (['chromium'] as const) : [])];
}

function decideFailureForMissingParts(missing: MachinePart[]): StartDecision {
  return { action: 'fail', code: 'machine_cannot', reason: describeMissingParts(missing) };
}

const withoutAgent: StartDecision = { action: 'fail', code: 'agent_not_ready', reason: 'its agent was terminated' };
const drained = decideToWait('draining', 'the agent is being drained');

/**
 * Returns the decision for a job with missing secrets. The secrets existed at the job's launch and were deleted since,
 * so a retry would fail too.
 */
export function decideFailureForMissingSecrets(missing: string[]): StartDecision {
  return { action: 'fail', code: 'secret_missing', reason: `the vault has no secret ${missing.join(', ')}` };
}

/**
 * Decides whether the machine can take a job, and if not, whether the service wakes it. Also used if a job was
 * dispatched to the machine but its command is not delivered yet.
 */
export function decideMachineReadiness(
  { status, provider }: Pick<StartFacts['agent'], 'status' | 'provider'>,
  { autoWake, wakeRestsUntil }: Pick<StartFacts, 'autoWake' | 'wakeRestsUntil'>,
): StartDecision {
  // Drains are ignored here, because a job that was dispatched before the drain may still start.
  const work = decideWorkAnswer({ status, provider, autoWake, drain: null });
  switch (work.takes) {
    case 'now':
      return { action: 'start', reason: 'the agent is online and free' };
    case 'after_boot':
      return decideToWait('agent_waking', `the agent is ${status}`);
    case 'after_drain':
      return drained;
    case 'never':
      return withoutAgent;
    case 'after_wake':
      if (!canWakeFrom(status)) {
        return decideToWait('agent_offline', `the agent is ${status}; it is started again once it has stopped`);
      }
      if (work.by === 'owner') {
        return decideToWait('agent_offline', `the agent is ${status} and cannot be started by the service`);
      }
      if (work.by === 'hand') {
        const reason = `the agent is ${status} and the setting vmAutoWakeOnJob is off; start it manually`;
        return { action: 'wait', waiting: 'agent_offline', reason, blocked: true };
      }
      if (wakeRestsUntil) {
        return decideToWait(
          'agent_offline',
          `the machine of the agent could not be started; the next attempt is at ${wakeRestsUntil.toISOString()}`,
        );
      }
      return { action: 'wake', waiting: 'agent_waking', reason: 'a job is queued' };
  }
}

function decideToWait(waiting: WaitingReason, reason: string): StartDecision {
  return { action: 'wait', waiting, reason };
}
