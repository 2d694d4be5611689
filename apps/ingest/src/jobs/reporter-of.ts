import { boundAgentOf, type Principal } from '@muster/access';
import type { Reporter } from '@muster/jobs';

/** Whose reports the caller's are: its own agent's, or any agent's of its organization. */
export function reporterOf(caller: Principal): Reporter {
  return { organizationId: caller.organizationId, agentId: boundAgentOf(caller) };
}
