import type { JobEntity, Transaction } from '@muster/database';
import { currentContext, OpenSpan, spanWithin } from '@muster/platform';

/** What the start of a run is told by. */
export interface StartFacts extends Pick<JobEntity, 'id' | 'traceparent' | 'waitingReason'> {
  /** Since it could have started. */
  waitedSeconds: number;
}

/**
 * Counts how long a run took to start, and makes its start a part of its own trace, also where the look at its agent
 * was part of another's.
 */
export function startSpan(
  tx: Transaction,
  { organizationId, agentId, ...run }: Pick<JobEntity, 'organizationId' | 'agentId'> & StartFacts,
): OpenSpan {
  const { id: jobId, traceparent, waitingReason, waitedSeconds } = run;
  const parent = spanWithin(traceparent);
  const here = currentContext()?.traceparent;
  const span = new OpenSpan({
    name: 'dispatch start',
    parent,
    linked: here === parent ? undefined : here,
    attributes: { 'muster.organization_id': organizationId, 'muster.agent_id': agentId, 'muster.job_id': jobId },
  });
  tx.onCommit(() => span.end());
  tx.measure(({ dispatchSeconds }) =>
    dispatchSeconds.observe({ waited_for: waitingReason ?? 'nothing' }, Math.max(0, waitedSeconds)),
  );
  return span;
}
