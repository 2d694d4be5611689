import { replaceSpanId, isTraceparent, deriveSpanId } from '@muster/platform';

/**
 * Returns the span ids of a command's execution by the worker and of its delivery. The ids are derived from the
 * command's id, so all processes that deliver, receive or end the command use the same ids without storing them.
 */
export function deriveWorkerTrace({ id, traceparent }: { id: string; traceparent: string }): {
  /** The traceparent for the worker. The worker receives it in its environment and sends it with its reports. */
  worker: string;
  /** Id of the span for the delivery that the worker acknowledged. */
  pushedBy: string;
} {
  const worker = isTraceparent(traceparent) ? replaceSpanId(traceparent, deriveSpanId('worker', id)) : traceparent;
  return { worker, pushedBy: deriveSpanId('push', id) };
}
