import { audit, type Principal, getCallerChannel } from '@muster/access';
import { type CommandActionParts, requireWakeableAgent } from '@muster/commands';
import { loadAgent, requestWake } from '@muster/machines';
import {
  type AgentActionAnswer,
  type AgentActionBody,
  AppError,
  invalidFieldError,
  notFoundError,
} from '@muster/contracts';
import type { JobEntity, Transaction } from '@muster/database';
import { launchJob } from '../launch/launch-job';

export interface Acted {
  answer: AgentActionAnswer;
  location?: string;
  /** Id of the wake that the response has to wait for; absent if the agent is online. */
  wakeId?: string;
}

/** Launches a job of the workflow, or uses the queued job of the request, and wakes the agent if it is not online. */
export async function startJob(
  tx: Transaction,
  caller: Principal,
  id: string,
  body: AgentActionBody,
  parts: CommandActionParts,
): Promise<Acted> {
  const { organizationId } = caller;
  const agent = await loadAgent(tx, organizationId, id, 'lock_beside_launches');
  requireJobOrWorkflow(body);
  if (agent.status === 'terminated') {
    const extra = { agentStatus: agent.status };
    throw new AppError('agent_not_ready', { detail: 'The agent is terminated. Use another agent.', extra });
  }
  // The request is checked before the agent's status, so that an invalid request is rejected in the same way in every
  // status.
  const jobId = await findOrLaunchJob(tx, caller, id, body, parts);
  const { status } = await requireWakeableAgent(tx, { organizationId, agentId: id }, 'run');
  await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId: id } });
  const answer: AgentActionAnswer = { success: true, action: 'start_job', status, jobId };
  const location = `/api/jobs/${jobId}`;
  if (status === 'online') return { answer, location };
  const { wakeId } = await requestWake(tx, {
    organizationId,
    agentId: id,
    jobId,
    source: getCallerChannel(caller),
    reason: 'a job is about to start',
    timeoutMs: parts.wakeTimeoutMs,
  });
  return { answer, location, wakeId };
}

/** Returns the job with its current status. Throws not_found if the job does not exist or belongs to another agent. */
export async function requireJobOfAgent(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  jobId: string,
): Promise<Pick<JobEntity, 'status'>> {
  const [job] = await tx.query<Pick<JobEntity, 'status' | 'agentId'>>(
    'SELECT status, agent_id FROM job WHERE id = $1 AND organization_id = $2',
    [jobId, caller.organizationId],
    'job_of_agent',
  );
  if (!job) throw notFoundError('job');
  if (job.agentId !== agentId)
    throw new AppError('not_found', {
      detail: 'The agent has no job with this id. List the jobs of the agent to find the id.',
    });
  return job;
}

async function findOrLaunchJob(
  tx: Transaction,
  caller: Principal,
  id: string,
  { jobId, workflowId, variables }: AgentActionBody,
  { now, keyRing }: CommandActionParts,
): Promise<string> {
  if (workflowId) {
    const input = { workflowId, agentId: id, ...(variables ? { variables } : {}) };
    return (await launchJob(tx, caller, input, now, keyRing)).jobId;
  }
  const { status } = await requireJobOfAgent(tx, caller, id, jobId!);
  if (status !== 'queued')
    throw new AppError('conflict', {
      detail: `The job has the status ${status}. Only a queued job can be started. To run it again, replay it.`,
    });
  audit(tx, caller, { action: 'job.start', target: { type: 'job', id: jobId! }, changes: { agentId: id } });
  return jobId!;
}

function requireJobOrWorkflow({ jobId, workflowId }: AgentActionBody): void {
  if (!jobId && !workflowId) {
    throw invalidFieldError('workflowId', 'start_job requires a workflowId, or the jobId of a queued job');
  }
  if (workflowId && jobId) throw invalidFieldError('jobId', 'start_job accepts a workflowId or a jobId, not both');
}
