import type { JobName, JobPayload, QueueName } from './catalogue';

/** A message, as a use case enqueues it inside its transaction. */
export type QueueMessage = {
  [Q in QueueName]: { [N in JobName<Q>]: { queue: Q; name: N; payload: JobPayload<Q, N> } }[JobName<Q>];
}[QueueName];

/** What travels through Redis: ids, and whose request it was. */
export interface MessageData {
  payload: Record<string, unknown>;
  organizationId: string | null;
  requestId: string | null;
  traceparent: string | null;
}

/** A committed outbox row on its way to the queue; its id is the queue's job id. */
export interface OutboxMessage extends MessageData {
  id: string;
  queue: QueueName;
  name: string;
}
