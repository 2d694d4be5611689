import { deriveWorkerTrace } from '@muster/commands';
import type { TerminalJobStatus } from '@muster/contracts';
import type { JobEntity } from '@muster/database';
import { recordSpan } from '@muster/platform';

type Run = Pick<JobEntity, 'agentId' | 'startedAt' | 'finishedAt' | 'attempt' | 'commandId' | 'traceparent'>;

/**
 * Records the work of the worker as a span of the run's trace. The service records this span, because the worker may
 * not reach a trace collector or may have died.
 */
export function recordRunSpan(
  { organizationId, jobId, to, errorCode }: RunEnd,
  { agentId, startedAt, finishedAt, attempt, commandId, traceparent }: Run,
): void {
  if (!startedAt || !finishedAt || !commandId || !traceparent) return;
  const { worker, pushedBy } = deriveWorkerTrace({ id: commandId, traceparent });
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
 * Returns the parent span for work after the run's end: the worker's span, or the run's own parent if the run was never
 * dispatched.
 */
export function getTraceOfRun({ commandId, traceparent }: Pick<Run, 'commandId' | 'traceparent'>): string | null {
  return commandId && traceparent ? deriveWorkerTrace({ id: commandId, traceparent }).worker : traceparent;
}

interface RunEnd {
  organizationId: string;
  jobId: string;
  to: TerminalJobStatus;
  /** Error code of the run; absent if it did not fail. */
  errorCode?: string;
}
