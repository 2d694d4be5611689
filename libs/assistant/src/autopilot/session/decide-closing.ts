import { isOffStatus } from '@muster/machines';
import type { AgentEntity, AutopilotEnding } from '@muster/database';

export interface ClosingFacts {
  to: AutopilotEnding['to'];
  /** Whether the worker reported that no process of the session's browser runs any more. */
  closed: boolean;
  /** Number of attempts to close the browser so far. The first two are close commands, the third is a reboot. */
  closeStep: number;
  agentStatus: AgentEntity['status'];
  provider: AgentEntity['provider'];
  /** Whether the machine has booted since the close command was issued, so that no process of the session is left. */
  booted: boolean;
}

export type ClosingDecision = { action: 'finish' | 'again' | 'reboot' | 'wait'; reason: string };

/** Decides how an ending session continues after an attempt to close its browser. */
export function decideSessionClosing({
  to,
  closed,
  closeStep,
  agentStatus,
  provider,
  booted,
}: ClosingFacts): ClosingDecision {
  if (closed) return { action: 'finish', reason: 'its browser is closed' };
  if (isOffStatus(agentStatus)) return { action: 'finish', reason: `the machine is ${agentStatus}` };
  if (booted) return { action: 'finish', reason: 'the machine has rebooted' };
  if (closeStep < 2) return { action: 'again', reason: 'the agent did not confirm that the browser is closed' };
  // The next session on the agent closes the browser of the previous one. Only `cancelled` promises that nothing runs.
  if (to !== 'cancelled') return { action: 'finish', reason: 'the next session closes what is left of its browser' };
  if (closeStep === 2 && provider !== 'external') {
    return { action: 'reboot', reason: 'the agent did not confirm that the session’s browser is closed' };
  }
  return { action: 'wait', reason: `the agent is ${agentStatus}` };
}
