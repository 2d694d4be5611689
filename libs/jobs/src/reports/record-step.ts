import { workerTrace } from '@muster/agents';
import type { StepStatusBody } from '@muster/contracts';
import type { JobEntity } from '@muster/database';
import { atSpan, recordSpan, spanIdFor, spanIdOf } from '@muster/platform';

/** Run of the step. Its variables are read only where traces are recorded, otherwise null. */
export interface StepTrace extends Pick<JobEntity, 'commandId' | 'traceparent'> {
  variables: JobEntity['variables'] | null;
}

/**
 * Records an ended step as a span of its run's trace, below the worker's span. The worker may not reach a collector, so
 * the service records the reported steps. A step's name comes from a script and may contain the value of a variable.
 */
export function recordStep(
  { organizationId, agentId }: { organizationId: string; agentId: string },
  { jobId, stepOrder, stepId, name, status, startedAt, finishedAt }: StepStatusBody,
  { commandId, traceparent, variables }: StepTrace,
): void {
  if (!commandId || !traceparent) return;
  const { worker } = workerTrace({ id: commandId, traceparent });
  // eslint-disable-next-line muster/service-clock -- Spans have the time of the process that records them.
  const endMs = timeOf(finishedAt) ?? Date.now();
  const label = name ?? stepId ?? String(stepOrder);
  recordSpan({
    name: `step ${withoutValues(label, Object.values(variables ?? {}))}`,
    kind: 'internal',
    traceparent: atSpan(worker, spanIdFor('step', `${jobId} ${stepOrder}`)),
    parentId: spanIdOf(worker),
    startMs: timeOf(startedAt) ?? endMs,
    endMs,
    attributes: {
      'muster.organization_id': organizationId,
      'muster.agent_id': agentId,
      'muster.job_id': jobId,
      'muster.step_order': stepOrder,
      'muster.status': status,
    },
    error: status === 'failed' ? 'failed' : undefined,
  });
}

const shortValue = 4;

/**
 * Replaces the values of variables by an ellipsis. A short value is replaced only as a separate word: an "a" within a
 * word does not come from a variable.
 */
export function withoutValues(text: string, values: string[]): string {
  const longestFirst = values.filter((value) => value.trim() !== '').sort((a, b) => b.length - a.length);
  return longestFirst.reduce((left, value) => {
    if (value.length >= shortValue) return left.replaceAll(value, '…');
    const escaped = value.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return left.replaceAll(new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, 'gu'), '…');
  }, text);
}

function timeOf(text: string | null | undefined): number | undefined {
  const ms = text ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
