import type { JobEntity, PlacedJob, Transaction } from '@muster/database';
import { getRequestContext, OpenSpan, getCurrentSpanIfSameTrace } from '@muster/platform';

/** Data of a run's start, for its trace span and its metric. */
export interface StartFacts extends Pick<JobEntity, 'id' | 'traceparent' | 'waitingReason'> {
  /** Seconds for which the run waited after it could have started. */
  waitedSeconds: number;
}

/**
 * Records the start of a run as a span of the run's trace, and measures how long the run waited for the start. If the
 * dispatch belongs to another trace, the span links to that trace.
 */
export function startRunSpan(
  tx: Transaction,
  { organizationId, agentId, ...run }: Pick<PlacedJob, 'organizationId' | 'agentId'> & StartFacts,
): OpenSpan {
  const { id: jobId, traceparent, waitingReason, waitedSeconds } = run;
  const parent = getCurrentSpanIfSameTrace(traceparent);
  const here = getRequestContext()?.traceparent;
  const span = new OpenSpan({
    name: 'dispatch start',
    parent,
    linked: here === parent ? undefined : here,
    attributes: { 'muster.organization_id': organizationId, 'muster.agent_id': agentId, 'muster.job_id': jobId },
  });
  tx.onCommit(() => span.end());
  tx.onCommitMeasure(({ dispatchSeconds, levels }) => {
    dispatchSeconds.observe({ waited_for: waitingReason ?? 'nothing' }, Math.max(0, waitedSeconds));
    if (!waitingReason) levels.countEvent('starts', waitedSeconds);
  });
  return span;
}
