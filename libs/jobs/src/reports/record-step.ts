import { workerTrace } from '@muster/agents';
import type { StepStatusBody } from '@muster/contracts';
import type { JobEntity } from '@muster/database';
import { atSpan, recordSpan, spanIdFor, spanIdOf } from '@muster/platform';

/** Of the step's run; its variables are read where traces are made, and nowhere else. */
export interface StepTrace extends Pick<JobEntity, 'commandId' | 'traceparent'> {
  variables: JobEntity['variables'] | null;
}

/**
 * A step that is over, as a span of its run's trace, below its worker's. The worker may reach no collector, so what it
 * reports is what the trace knows of it. Its name is a script's text, which may have said a variable's value.
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

/** A short value says something only where it stands by itself: an "a" within a word is no variable's. */
export function withoutValues(text: string, values: string[]): string {
  const longestFirst = values.filter((value) => value.trim() !== '').sort((a, b) => b.length - a.length);
  return longestFirst.reduce((left, value) => {
    if (value.length >= shortValue) return left.replaceAll(value, '…');
    const word = value.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return left.replaceAll(new RegExp(`(?<![\\p{L}\\p{N}])${word}(?![\\p{L}\\p{N}])`, 'gu'), '…');
  }, text);
}

function timeOf(text: string | null | undefined): number | undefined {
  const ms = text ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
