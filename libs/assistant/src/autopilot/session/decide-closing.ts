import { isOff } from '@muster/agents';
import type { AgentEntity, AutopilotEnding } from '@muster/database';

export interface ClosingFacts {
  to: AutopilotEnding['to'];
  /** The worker said that nothing of its browser runs any more. */
  closed: boolean;
  /** How often it was told to close; beyond twice, its machine was rebooted. */
  closeStep: number;
  agentStatus: AgentEntity['status'];
  provider: AgentEntity['provider'];
  /** The machine has booted since it was told to close: nothing of the session is left on it. */
  booted: boolean;
}

export type ClosingDecision = { action: 'finish' | 'again' | 'reboot' | 'wait'; reason: string };

/** What becomes of a session's end that its worker does not confirm. */
export function decideClosing({ to, closed, closeStep, agentStatus, provider, booted }: ClosingFacts): ClosingDecision {
  if (closed) return { action: 'finish', reason: 'its browser is closed' };
  if (isOff(agentStatus)) return { action: 'finish', reason: `the machine is ${agentStatus}` };
  if (booted) return { action: 'finish', reason: 'the machine has booted anew' };
  if (closeStep < 2) return { action: 'again', reason: 'the agent did not confirm that the browser is closed' };
  // Another session ends the browser of the one before; only cancelled promises that nothing runs.
  if (to !== 'cancelled') return { action: 'finish', reason: 'the next session ends what is left' };
  if (closeStep === 2 && provider !== 'external') {
    return { action: 'reboot', reason: 'the agent did not confirm that the session’s browser is closed' };
  }
  return { action: 'wait', reason: `the agent is ${agentStatus}` };
}
