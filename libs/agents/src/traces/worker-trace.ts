import { atSpan, isTraceparent, spanIdFor } from '@muster/platform';

/**
 * Where a command's worker is in its trace. The ids are made of the command's own, so that whoever delivers it, whoever
 * hears of it and whoever ends it name the same spans, and no row has to hold them.
 */
export function workerTrace({ id, traceparent }: { id: string; traceparent: string }): {
  /** What the worker goes on with: its environment has it, and its reports come with it. */
  worker: string;
  /** The span of the delivery that brought it. */
  pushedBy: string;
} {
  const worker = isTraceparent(traceparent) ? atSpan(traceparent, spanIdFor('worker', id)) : traceparent;
  return { worker, pushedBy: spanIdFor('push', id) };
}
