import { deriveWorkerTrace } from '@muster/commands';
import type { StepStatusBody } from '@muster/contracts';
import type { JobEntity } from '@muster/database';
import { replaceSpanId, recordSpan, deriveSpanId, getSpanId } from '@muster/platform';

/** The run of the step. The variables are read only if traces are recorded; otherwise they are null. */
export interface StepTrace extends Pick<JobEntity, 'commandId' | 'traceparent'> {
  variables: JobEntity['variables'] | null;
}

/**
 * Records an ended step as a span of its run's trace, below the worker's span. The service records it, because the
 * worker may not reach a trace collector. The name of a step comes from a script and may contain the value of a
 * variable, which is left out.
 */
export function recordStepSpan(
  { organizationId, agentId }: { organizationId: string; agentId: string },
  { jobId, stepOrder, stepId, name, status, startedAt, finishedAt }: StepStatusBody,
  { commandId, traceparent, variables }: StepTrace,
): void {
  if (!commandId || !traceparent) return;
  const { worker } = deriveWorkerTrace({ id: commandId, traceparent });
  // eslint-disable-next-line muster/service-clock -- Spans have the time of the process that records them.
  const endMs = parseTimeOrNull(finishedAt) ?? Date.now();
  const label = name ?? stepId ?? String(stepOrder);
  recordSpan({
    name: `step ${redactVariableValues(
      label,
      Object.values(variables ?? {}).filter((value) => typeof value === 'string'),
    )}`,
    kind: 'internal',
    traceparent: replaceSpanId(worker, deriveSpanId('step', `${jobId} ${stepOrder}`)),
    parentId: getSpanId(worker),
    startMs: parseTimeOrNull(startedAt) ?? endMs,
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
 * Replaces the values of variables in the text by an ellipsis. A value of fewer than four characters is replaced only
 * as a separate word, because an "a" within a word is not the value of a variable.
 */
export function redactVariableValues(text: string, values: string[]): string {
  const longestFirst = values.filter((value) => value.trim() !== '').sort((a, b) => b.length - a.length);
  return longestFirst.reduce((left, value) => {
    if (value.length >= shortValue) return left.replaceAll(value, '…');
    const escaped = value.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return left.replaceAll(new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, 'gu'), '…');
  }, text);
}

function parseTimeOrNull(text: string | null | undefined): number | undefined {
  const ms = text ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
