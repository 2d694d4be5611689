import { canWake, lacksText, mayTakeWork, needsOf } from '@muster/agents';
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
    /** Whether the remaining processes of an ended job are being killed. */
    clearing?: boolean;
  };
  /** The first job of the agent's queue that may start; null if there is no such job. */
  head: { id: string; vaultKeys: string[]; nothingToRun?: boolean } | null;
  autoWake: boolean;
  /** After failed wakes, the time before which the agent is not woken again; null if it may be woken now. */
  wakeRestsUntil: Date | null;
  gate: { canLaunchRuns: boolean; reason: string | null };
  maxConcurrentRuns: number | null;
  runningInOrganization: number;
  missingSecrets: string[];
  /** The concurrency keys of the job that are full. */
  fullKeys?: FullKey[];
  /** The parts that the job needs and the machine lacks, according to its worker's last report. */
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

/** Decides whether the agent's first job may start now, and if not, why. */
export function decideStart(facts: StartFacts): StartDecision {
  const { agent, head, gate, autoWake } = facts;
  if (!head) return { action: 'none', reason: 'no queued job can start yet' };
  const work = mayTakeWork({ ...agent, autoWake });
  if (work.takes === 'never') return withoutAgent;
  if (head.nothingToRun) {
    return { action: 'fail', code: 'nothing_to_run', reason: 'the workflow has neither a script nor steps' };
  }
  if (agent.currentJobId) return wait('agent_busy', `job ${agent.currentJobId} occupies the agent`);
  if (agent.autopilotSessionId)
    return wait('agent_busy', `autopilot session ${agent.autopilotSessionId} occupies the agent`);
  if (agent.clearing) return wait('agent_busy', 'the remaining processes of its last job are being killed');
  if (work.takes === 'after_drain') return drained;
  if (facts.missingSecrets.length) return withoutSecrets(facts.missingSecrets);
  if (!gate.canLaunchRuns) return wait('billing_gate', gate.reason ?? 'the billing gate is closed');
  if (facts.maxConcurrentRuns !== null && facts.runningInOrganization >= facts.maxConcurrentRuns) {
    return wait(
      'concurrency_limit',
      `${facts.runningInOrganization} of at most ${facts.maxConcurrentRuns} runs are in progress`,
    );
  }
  const [full] = facts.fullKeys ?? [];
  if (full)
    return wait('concurrency_key', `${full.held} of at most ${full.most} runs hold or will get the key ${full.key}`);
  const readiness = decideReadiness(agent, facts);
  // A machine that is off may have the missing parts after its next boot; its worker reports them then.
  return readiness.action === 'start' && facts.missingParts?.length ? withoutParts(facts.missingParts) : readiness;
}

/** Returns the machine parts that a run needs. Steps without a script or a bundle run in a browser. */
export function needsOfRun({ steps, bundle }: { steps: unknown[] | null; bundle: object | null }): MachinePart[] {
  return [...needsOf('run'), ...(steps?.length && !bundle ? (['chromium'] as const) : [])];
}

function withoutParts(missing: MachinePart[]): StartDecision {
  return { action: 'fail', code: 'machine_cannot', reason: lacksText(missing) };
}

const withoutAgent: StartDecision = { action: 'fail', code: 'agent_not_ready', reason: 'its agent was terminated' };
const drained = wait('draining', 'the agent is being drained');

/** The secrets existed when the job was launched and were deleted since, so a retry would not find them either. */
export function withoutSecrets(missing: string[]): StartDecision {
  return { action: 'fail', code: 'secret_missing', reason: `the vault has no secret ${missing.join(', ')}` };
}

/**
 * Decides whether the machine can take a job, and if not, whether the service wakes it. Also used for a machine whose
 * job is not delivered yet.
 */
export function decideReadiness(
  { status, provider }: Pick<StartFacts['agent'], 'status' | 'provider'>,
  { autoWake, wakeRestsUntil }: Pick<StartFacts, 'autoWake' | 'wakeRestsUntil'>,
): StartDecision {
  // A job that was dispatched before a drain may still start, so the drain is ignored here.
  const work = mayTakeWork({ status, provider, autoWake, drain: null });
  switch (work.takes) {
    case 'now':
      return { action: 'start', reason: 'the agent is online and free' };
    case 'after_boot':
      return wait('agent_waking', `the agent is ${status}`);
    case 'after_drain':
      return drained;
    case 'never':
      return withoutAgent;
    case 'after_wake':
      if (!canWake(status)) {
        return wait('agent_offline', `the agent is ${status}; it is started again once it has stopped`);
      }
      if (work.by === 'owner') {
        return wait('agent_offline', `the agent is ${status} and cannot be started by the service`);
      }
      if (work.by === 'hand') {
        const reason = `the agent is ${status} and auto-wake is off; start it manually`;
        return { action: 'wait', waiting: 'agent_offline', reason, blocked: true };
      }
      if (wakeRestsUntil) {
        return wait('agent_offline', `it could not be started; the next attempt is at ${wakeRestsUntil.toISOString()}`);
      }
      return { action: 'wake', waiting: 'agent_waking', reason: 'a job is queued' };
  }
}

function wait(waiting: WaitingReason, reason: string): StartDecision {
  return { action: 'wait', waiting, reason };
}
