import { workerTrace } from '@muster/agents';
import type { TerminalJobStatus } from '@muster/contracts';
import type { JobEntity } from '@muster/database';
import { recordSpan } from '@muster/platform';

type Run = Pick<JobEntity, 'agentId' | 'startedAt' | 'finishedAt' | 'attempt' | 'commandId' | 'traceparent'>;

/**
 * What the worker did as a span of the run's trace. It is told here and not by the worker, which may reach no collector,
 * or have died: whoever ends the run knows when it began.
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

/** Where what follows a run's end belongs in its trace: below its worker, if it had one. */
export function traceOfRun({ commandId, traceparent }: Pick<Run, 'commandId' | 'traceparent'>): string | null {
  return commandId && traceparent ? workerTrace({ id: commandId, traceparent }).worker : traceparent;
}

interface RunEnd {
  organizationId: string;
  jobId: string;
  to: TerminalJobStatus;
  /** Of what failed. */
  errorCode?: string;
}
