import { getBoundAgent, type Principal } from '@muster/access';
import type { Reporter } from '@muster/jobs';

/**
 * Returns the agent for which the caller reports: the agent that its key is bound to, or null for any agent of its
 * organization.
 */
export function toReporter(caller: Principal): Reporter {
  return { organizationId: caller.organizationId, agentId: getBoundAgent(caller) };
}
