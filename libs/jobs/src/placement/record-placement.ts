import type { Transaction } from '@muster/database';
import type { TimelineEntry } from '@muster/timeline';
import type { HeadJob } from '../dispatch/lock-agent-and-next-job';
import { buildJobEntry } from '../launch/insert-job';

/**
 * Returns the timeline entries of a start. The timeline of the agent that gets a job without an agent also contains
 * when the job was queued, because no timeline had that entry before, and the decision.
 */
export function buildStartEntries(
  { id: jobId, queuedAt, considered }: Pick<HeadJob, 'id' | 'queuedAt' | 'considered'>,
  agentId: string,
  why: string | null,
): TimelineEntry[] {
  const change = { jobId, status: 'queued', previousStatus: 'queued', source: 'dispatcher' } as const;
  if (why === null) return [buildJobEntry({ ...change, message: 'sent to the agent' })];
  const queued = buildJobEntry({ ...change, message: 'queued for any agent with its labels' });
  return [
    { ...queued, at: queuedAt },
    buildJobEntry({
      ...change,
      message: `sent to the agent: ${why}`,
      data: { considered, chosen: agentId, why },
    }),
  ];
}

/** Records the agent of a job without an agent in its waiting keys and accounts. */
export function assignKeysAndAccounts(
  tx: Transaction,
  agentId: string,
  { id, concurrencyKeys, accounts }: Pick<HeadJob, 'id' | 'concurrencyKeys' | 'accounts'>,
): void {
  if (concurrencyKeys)
    tx.deferStatement('UPDATE concurrency_lease SET agent_id = $2 WHERE job_id = $1', [id, agentId], 'assign_keys');
  if (accounts)
    tx.deferStatement('UPDATE account_use SET agent_id = $2 WHERE job_id = $1', [id, agentId], 'assign_accounts');
}
