import type { AgentProvider, AgentStatus, WaitingReason } from '@muster/contracts';

export interface StartFacts {
  agent: {
    status: AgentStatus;
    provider: AgentProvider;
    drain: string | null;
    /** The job that has the machine; null when it is free. */
    currentJobId: string | null;
    /** What is left of a job that was given up is being killed. */
    clearing?: boolean;
  };
  /** The job that is first in the agent's queue; null when none may start yet. */
  head: { id: string; vaultKeys: string[]; nothingToRun?: boolean } | null;
  autoWake: boolean;
  /** After wakes that failed it is let be for a while; null where it may be woken now. */
  wakeRestsUntil: Date | null;
  gate: { canLaunchRuns: boolean; reason: string | null };
  maxConcurrentRuns: number | null;
  runningInOrganization: number;
  missingSecrets: string[];
}

export type StartDecision =
  | { action: 'none'; reason: string }
  | { action: 'start'; reason: string }
  | { action: 'fail'; code: 'secret_missing' | 'agent_not_ready' | 'nothing_to_run'; reason: string }
  | { action: 'wake'; waiting: WaitingReason; reason: string }
  | { action: 'wait'; waiting: WaitingReason; reason: string; blocked?: boolean };

/** May the agent's first job start now, and if not, why not? */
export function decideStart(facts: StartFacts): StartDecision {
  const { agent, head, gate } = facts;
  if (!head) return { action: 'none', reason: 'nothing is queued that may start yet' };
  if (agent.status === 'terminated') {
    return { action: 'fail', code: 'agent_not_ready', reason: 'its agent was terminated' };
  }
  if (head.nothingToRun) {
    return { action: 'fail', code: 'nothing_to_run', reason: 'the workflow has neither a script nor steps' };
  }
  if (agent.currentJobId) return wait('agent_busy', `job ${agent.currentJobId} has the machine`);
  if (agent.clearing) return wait('agent_busy', 'what is left of its last job is being killed');
  if (agent.drain || agent.status === 'draining') return wait('draining', 'the agent is being drained');
  if (facts.missingSecrets.length) return withoutSecrets(facts.missingSecrets);
  if (!gate.canLaunchRuns) return wait('billing_gate', gate.reason ?? 'the billing gate is closed');
  if (facts.maxConcurrentRuns !== null && facts.runningInOrganization >= facts.maxConcurrentRuns) {
    return wait('concurrency_limit', `${facts.runningInOrganization} runs of ${facts.maxConcurrentRuns} are under way`);
  }
  return decideReadiness(agent, facts);
}

/** Asked for by name when the job was launched, and gone since: no later attempt would find it. */
export function withoutSecrets(missing: string[]): StartDecision {
  return { action: 'fail', code: 'secret_missing', reason: `the vault has no secret ${missing.join(', ')}` };
}

/** Can the machine take a job, and if not, is somebody to wake it? Also for one that has a job it has not begun. */
export function decideReadiness(
  agent: Pick<StartFacts['agent'], 'status' | 'provider'>,
  { autoWake, wakeRestsUntil }: Pick<StartFacts, 'autoWake' | 'wakeRestsUntil'>,
): StartDecision {
  switch (agent.status) {
    case 'online':
      return { action: 'start', reason: 'the agent is online and free' };
    case 'starting':
    case 'rebooting':
      return wait('agent_waking', `the agent is ${agent.status}`);
    case 'stopping':
      return wait('agent_offline', 'the agent is stopping; it is woken once it has stopped');
    case 'draining':
      return wait('draining', 'the agent is being drained');
    case 'terminated':
      return { action: 'fail', code: 'agent_not_ready', reason: 'its agent was terminated' };
    default: {
      if (agent.provider === 'external') {
        return wait('agent_offline', `the agent is ${agent.status} and cannot be started from here`);
      }
      if (!autoWake) {
        const reason = `the agent is ${agent.status} and auto-wake is off; start it by hand`;
        return { action: 'wait', waiting: 'agent_offline', reason, blocked: true };
      }
      if (wakeRestsUntil) {
        return wait('agent_offline', `it did not wake; it is tried again at ${wakeRestsUntil.toISOString()}`);
      }
      return { action: 'wake', waiting: 'agent_waking', reason: 'a job is queued' };
    }
  }
}

function wait(waiting: WaitingReason, reason: string): StartDecision {
  return { action: 'wait', waiting, reason };
}
