import { boundAgentOf, type Principal } from '@muster/access';
import type { Reporter } from '@muster/jobs';

/** Returns the agent that the caller reports for: the agent of its key, or null for any agent of its organization. */
export function reporterOf(caller: Principal): Reporter {
  return { organizationId: caller.organizationId, agentId: boundAgentOf(caller) };
}
