import { audit, type Principal, requireExistingSecrets, getCallerChannel } from '@muster/access';
import { AppError, isTerminalStatus, notFoundError } from '@muster/contracts';
import type { AgentEntity, JobEntity, Transaction } from '@muster/database';
import { readBillingLimits, reserveRuns } from '@muster/pricing';
import { requireScriptOrSteps, runsAnythingSql } from '@muster/workflows';
import { requireFittingAgent } from '../placement/target';
import { insertJob } from './insert-job';

interface Replayed extends Pick<
  JobEntity,
  | 'status'
  | 'workflowId'
  | 'workflowRevision'
  | 'agentId'
  | 'targetLabels'
  | 'targetPrefer'
  | 'retrySameAgent'
  | 'variables'
  | 'sensitiveResults'
  | 'vaultKeys'
  | 'concurrencyKeys'
  | 'accounts'
  | 'priority'
  | 'maxRetries'
  | 'retryDelayMs'
  | 'retryBackoff'
  | 'maxRuntimeMs'
  | 'maxCostMicros'
  | 'lineage'
  | 'bundle'
> {
  agentStatus: AgentEntity['status'] | null;
  runs: boolean;
}

/** Launches an ended job again as a new job, with the same revision, variables and options. */
export async function replayJob(
  tx: Transaction,
  caller: Principal,
  id: string,
  now: Date,
): Promise<{ jobId: string; status: 'queued' }> {
  const { organizationId } = caller;
  const [old] = await tx.query<Replayed>(
    `SELECT j.status, j.workflow_id, j.workflow_revision, j.agent_id, a.status AS agent_status, j.variables, j.sensitive_results,
            j.target_labels, j.target_prefer, j.retry_same_agent,
            j.vault_keys, j.concurrency_keys, j.accounts, j.priority, j.max_retries, j.retry_delay_ms, j.retry_backoff,
            j.max_runtime_ms, j.max_cost_micros, j.lineage, j.bundle, ${runsAnythingSql} AS runs
     FROM job j LEFT JOIN agent a ON a.id = j.agent_id
     JOIN workflow_revision r ON r.workflow_id = j.workflow_id AND r.revision = j.workflow_revision
     WHERE j.id = $1 AND j.organization_id = $2`,
    [id, organizationId],
  );
  if (!old) throw notFoundError('job');
  const { status, agentStatus, runs, ...job } = old;
  if (!isTerminalStatus(status))
    throw new AppError('conflict', {
      detail: `The job has the status ${status}. Only a job that has ended can be replayed. Wait until it has ended, or cancel it.`,
    });
  if (job.targetLabels) await requireFittingAgent(tx, organizationId, job.targetLabels);
  else if (agentStatus === 'terminated') {
    throw new AppError('agent_not_ready', {
      detail: 'The agent of the job is terminated. Launch the workflow on another agent.',
    });
  }
  requireScriptOrSteps(runs || job.bundle !== null);
  await requireExistingSecrets(tx, organizationId, job.vaultKeys);
  const requested = { count: 1, maxCostMicros: job.maxCostMicros };
  await reserveRuns(tx, organizationId, { requested, limits: await readBillingLimits(tx, organizationId, now), now });
  const agentId = job.targetLabels ? null : job.agentId;
  const jobId = await insertJob(tx, { ...job, agentId, organizationId, source: getCallerChannel(caller) });
  audit(tx, caller, { action: 'job.replay', target: { type: 'job', id: jobId }, changes: { replayOf: id } });
  return { jobId, status: 'queued' };
}
