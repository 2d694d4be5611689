import { audit, type Principal, describeCallerInSentence, getCallerChannel } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { JobEntity, Transaction } from '@muster/database';
import { loadAgent } from '../registry/agent-row';
import { setAgentStatus } from '../life/set-agent-status';
import { requireFreeAgent } from './power';

export interface TouchedJobs {
  /** Jobs that were sent to the agent. */
  running: string[];
  /** Queued jobs that wait for the agent. */
  queued: string[];
}

/**
 * Drains an agent: the agent accepts no new work until it is undrained, even after a reboot. Running work continues.
 * With `now`, the agent must have no work, or `force` must be set; then the caller ends the returned running jobs in
 * this transaction.
 */
export async function drainAgent(
  tx: Transaction,
  caller: Principal,
  id: string,
  { mode, force = false }: { mode: 'finish' | 'now'; force?: boolean },
): Promise<TouchedJobs> {
  const { organizationId } = caller;
  const agent = await loadAgent(tx, organizationId, id, 'lock_beside_launches');
  if (agent.status === 'terminated') {
    throw new AppError('agent_not_ready', {
      detail: 'The agent is terminated and cannot be drained. Use another agent.',
      extra: { agentStatus: agent.status },
    });
  }
  if (mode === 'now' && !force) requireFreeAgent(agent, 'drained at once');
  await tx.execute('UPDATE agent SET drain = $2 WHERE id = $1', [id, mode]);
  const reason =
    mode === 'now'
      ? `drained at once by ${describeCallerInSentence(caller)}`
      : `drained by ${describeCallerInSentence(caller)}`;
  const source = getCallerChannel(caller);
  if (agent.status === 'online') {
    await setAgentStatus(tx, { organizationId, agentId: id, move: 'drain', to: 'draining', source, reason });
  }
  audit(tx, caller, {
    action: 'agent.drain',
    target: { type: 'agent', id },
    changes: { drain: [agent.drain, mode], ...(force ? { force } : {}) },
  });
  // The dispatcher is notified, so that it updates the waiting reasons of the queued jobs.
  await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId: id } });
  return findAgentJobs(tx, id);
}

/** Undrains an agent. The agent's idle time starts again, because the caller is likely to use the agent soon. */
export async function undrainAgent(tx: Transaction, caller: Principal, id: string): Promise<TouchedJobs> {
  const { organizationId } = caller;
  const agent = await loadAgent(tx, organizationId, id, 'lock');
  await tx.execute(
    `UPDATE agent SET drain = NULL, last_activity_at = GREATEST(last_activity_at, muster_now()),
            last_activity = 'the end of its draining'
     WHERE id = $1`,
    [id],
  );
  const [source, reason] = [getCallerChannel(caller), `undrained by ${describeCallerInSentence(caller)}`];
  await setAgentStatus(tx, { organizationId, agentId: id, move: 'undrain', to: 'online', source, reason });
  audit(tx, caller, {
    action: 'agent.undrain',
    target: { type: 'agent', id },
    changes: { drain: [agent.drain, null] },
  });
  await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId: id } });
  return findAgentJobs(tx, id);
}

async function findAgentJobs(tx: Transaction, agentId: string): Promise<TouchedJobs> {
  const jobs = await tx.query<Pick<JobEntity, 'id'> & { dispatched: boolean }>(
    `SELECT j.id, j.status = 'running' OR j.command_id IS NOT NULL AS dispatched FROM job j
     WHERE j.agent_id = $1 AND j.status = 'running'
     UNION ALL
     SELECT j.id, j.command_id IS NOT NULL FROM job j WHERE j.agent_id = $1 AND j.status = 'queued'
     ORDER BY id`,
    [agentId],
  );
  const listJobIds = (dispatched: boolean) => jobs.filter((job) => job.dispatched === dispatched).map(({ id }) => id);
  return { running: listJobIds(true), queued: listJobIds(false) };
}
