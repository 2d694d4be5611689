import { replaceSpanId, continueTrace, isTraceparent, isTracing, recordSpan, getSpanId } from '@muster/platform';
import type { CommandRow, DeliveryOutcome } from '../command/command-row';
import { deriveWorkerTrace } from '../command/worker-trace';

type Delivered = Pick<CommandRow, 'id' | 'organizationId' | 'agentId' | 'jobId' | 'kind' | 'traceparent'>;

/**
 * Records one attempt to deliver a command as a span. The span of the attempt that the worker acknowledged is the
 * parent of the worker's span. All attempts have the same parent.
 */
export class DeliverySpan {
  // eslint-disable-next-line muster/service-clock -- Spans have the time of the process that records them.
  private readonly startMs = Date.now();
  private readonly startedAt = performance.now();

  constructor(private readonly command: Delivered) {}

  recordSpan(outcome: DeliveryOutcome | 'polled' | 'failed'): void {
    const { id, organizationId, agentId, jobId, kind, traceparent } = this.command;
    if (!isTracing() || !isTraceparent(traceparent)) return;
    const isTaken = outcome === 'taken' || outcome === 'known' || outcome === 'polled';
    const { pushedBy } = deriveWorkerTrace({ id, traceparent });
    recordSpan({
      name: `push ${kind}`,
      kind: 'client',
      traceparent: isTaken ? replaceSpanId(traceparent, pushedBy) : continueTrace(traceparent),
      parentId: getSpanId(traceparent),
      startMs: this.startMs,
      endMs: this.startMs + performance.now() - this.startedAt,
      attributes: {
        'muster.organization_id': organizationId,
        'muster.agent_id': agentId,
        'muster.job_id': jobId,
        'muster.command_id': id,
        'muster.outcome': outcome,
      },
      error: isTaken ? undefined : outcome.replaceAll(' ', '_'),
    });
  }
}
