import type { JobName, JobPayload, QueueName } from './catalogue';

/** A message that a use case enqueues inside its transaction. */
export type QueueMessage = {
  [Q in QueueName]: { [N in JobName<Q>]: { queue: Q; name: N; payload: JobPayload<Q, N> } }[JobName<Q>];
}[QueueName];

/** Data of a message in Redis: ids, and the organization and request that caused it. */
export interface MessageData {
  payload: Record<string, unknown>;
  organizationId: string | null;
  requestId: string | null;
  traceparent: string | null;
}

/** A committed outbox row that is published to the queue. Its id is the queue's job id. */
export interface OutboxMessage extends MessageData {
  id: string;
  queue: QueueName;
  name: string;
}
