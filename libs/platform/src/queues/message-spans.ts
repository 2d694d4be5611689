import type { MessageData, OutboxMessage, QueueName } from '@muster/contracts';
import { continueTrace, isTraceparent, spanIdOf, untraced } from '../context/trace';
import { isTracing, OpenSpan, recordSpan, type SpanAttributes } from '../tracing/spans';

interface PublishedSpan {
  /** What travels with the message. */
  traceparent: string | null;
  end(): void;
}

/** A message on its way out of the outbox, from its row to the queue. One that comes from no request is in no trace. */
export function publishedSpan({ id, queue, name, traceparent }: OutboxMessage): PublishedSpan {
  if (!isTracing() || !isTraceparent(traceparent)) return { traceparent, end: () => undefined };
  return new OpenSpan({
    name: `outbox ${queue}.${name}`,
    kind: 'producer',
    parent: traceparent,
    startMs: writtenAt(id),
    attributes: attributesOf(id, queue, name),
  });
}

/** A message as its handler gets it. */
export interface ReceivedMessage {
  id: string;
  queue: QueueName;
  name: string;
  data: MessageData;
  /** Since when it waited for its handler. */
  enqueuedAtMs: number;
}

/** The span that a message's handler works in; above it is one of the time that the message waited in its queue. */
export function handledSpan(message: ReceivedMessage): Pick<OpenSpan, 'traceparent' | 'fail' | 'end'> {
  const { id, queue, name, data, enqueuedAtMs } = message;
  const { traceparent: given } = data;
  if (!isTracing() || !isTraceparent(given)) return noSpan(isTracing() ? untraced() : continueTrace(given));
  const attributes = attributesOf(id, queue, name);
  const waited = continueTrace(given);
  const now = Date.now();
  recordSpan({
    name: `queue ${queue}.${name}`,
    kind: 'consumer',
    traceparent: waited,
    parentId: spanIdOf(given),
    startMs: Math.min(enqueuedAtMs, now),
    endMs: now,
    attributes,
  });
  return new OpenSpan({ name: `${queue} ${name}`, parent: waited, attributes });
}

function noSpan(traceparent: string) {
  return { traceparent, fail: () => undefined, end: () => undefined };
}

/** An outbox row's id begins with the time that it was made at. */
function writtenAt(id: string): number | undefined {
  const at = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  return at > 0 && at <= Date.now() ? at : undefined;
}

function attributesOf(id: string, queue: string, name: string): SpanAttributes {
  return {
    'messaging.system': 'bullmq',
    'messaging.destination.name': queue,
    'messaging.message.id': id,
    'muster.message': name,
  };
}
