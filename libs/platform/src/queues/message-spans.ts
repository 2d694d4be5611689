import type { MessageData, OutboxMessage, QueueName } from '@muster/contracts';
import { continueTrace, isTraceparent, getSpanId, createUnsampledTraceparent } from '../context/trace';
import { isTracing, OpenSpan, recordSpan, type SpanAttributes } from '../tracing/spans';

interface PublishedSpan {
  /** Traceparent that is sent with the message. */
  traceparent: string | null;
  end(): void;
}

/**
 * Opens the span of a message from its outbox row to the queue. A message that no request caused belongs to no trace.
 */
export function openPublishSpan({ id, queue, name, traceparent }: OutboxMessage): PublishedSpan {
  if (!isTracing() || !isTraceparent(traceparent)) return { traceparent, end: () => undefined };
  return new OpenSpan({
    name: `outbox ${queue}.${name}`,
    kind: 'producer',
    parent: traceparent,
    startMs: getWriteTime(id),
    attributes: buildMessageAttributes(id, queue, name),
  });
}

/** A message as its handler receives it. */
export interface QueuedMessage {
  id: string;
  queue: QueueName;
  name: string;
  data: MessageData;
  /** Time since which the message waited for its handler. */
  enqueuedAtMs: number;
}

/** Opens the span of a message's handler. Its parent is a span for the time that the message waited in its queue. */
export function openHandlerSpan(message: QueuedMessage): Pick<OpenSpan, 'traceparent' | 'markFailed' | 'end'> {
  const { id, queue, name, data, enqueuedAtMs } = message;
  const { traceparent: parent } = data;
  if (!isTracing() || !isTraceparent(parent))
    return createNoopSpan(isTracing() ? createUnsampledTraceparent() : continueTrace(parent));
  const attributes = buildMessageAttributes(id, queue, name);
  const waited = continueTrace(parent);
  const now = Date.now();
  recordSpan({
    name: `queue ${queue}.${name}`,
    kind: 'consumer',
    traceparent: waited,
    parentId: getSpanId(parent),
    startMs: Math.min(enqueuedAtMs, now),
    endMs: now,
    attributes,
  });
  return new OpenSpan({ name: `${queue} ${name}`, parent: waited, attributes });
}

function createNoopSpan(traceparent: string) {
  return { traceparent, markFailed: () => undefined, end: () => undefined };
}

/** Returns the creation time of an outbox row, which its id starts with. */
function getWriteTime(id: string): number | undefined {
  const at = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  return at > 0 && at <= Date.now() ? at : undefined;
}

function buildMessageAttributes(id: string, queue: string, name: string): SpanAttributes {
  return {
    'messaging.system': 'bullmq',
    'messaging.destination.name': queue,
    'messaging.message.id': id,
    'muster.message': name,
  };
}
