import { atSpan, isTraceparent, spanIdFor } from '@muster/platform';

/**
 * The span ids of a command's worker and of its delivery. They are derived from the command's id, so every process that
 * delivers, receives or ends the command uses the same ids, and no row stores them.
 */
export function workerTrace({ id, traceparent }: { id: string; traceparent: string }): {
  /** The traceparent that the worker continues: it is in the worker's environment and comes back with its reports. */
  worker: string;
  /** The span of the delivery that the worker acknowledged. */
  pushedBy: string;
} {
  const worker = isTraceparent(traceparent) ? atSpan(traceparent, spanIdFor('worker', id)) : traceparent;
  return { worker, pushedBy: spanIdFor('push', id) };
}
