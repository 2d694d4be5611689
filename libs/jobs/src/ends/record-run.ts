import { workerTrace } from '@muster/agents';
import type { TerminalJobStatus } from '@muster/contracts';
import type { JobEntity } from '@muster/database';
import { recordSpan } from '@muster/platform';

type Run = Pick<JobEntity, 'agentId' | 'startedAt' | 'finishedAt' | 'attempt' | 'commandId' | 'traceparent'>;

/**
 * Records the worker's part of a run as a span of the run's trace. The worker does not record it, because it may not
 * reach a collector or may have died.
 */
export function recordRun(
  { organizationId, jobId, to, errorCode }: RunEnd,
  { agentId, startedAt, finishedAt, attempt, commandId, traceparent }: Run,
): void {
  if (!startedAt || !finishedAt || !commandId || !traceparent) return;
  const { worker, pushedBy } = workerTrace({ id: commandId, traceparent });
  recordSpan({
    name: 'worker run',
    traceparent: worker,
    parentId: pushedBy,
    kind: 'consumer',
    startMs: startedAt.getTime(),
    endMs: finishedAt.getTime(),
    attributes: {
      'muster.organization_id': organizationId,
      'muster.agent_id': agentId,
      'muster.job_id': jobId,
      'muster.command_id': commandId,
      'muster.attempt': attempt,
      'muster.status': to,
    },
    error: errorCode,
  });
}

/**
 * Returns the parent in the run's trace for the work after the run's end: the worker's span if the run was dispatched.
 */
export function traceOfRun({ commandId, traceparent }: Pick<Run, 'commandId' | 'traceparent'>): string | null {
  return commandId && traceparent ? workerTrace({ id: commandId, traceparent }).worker : traceparent;
}

interface RunEnd {
  organizationId: string;
  jobId: string;
  to: TerminalJobStatus;
  /** Error code of a failed run. */
  errorCode?: string;
}
