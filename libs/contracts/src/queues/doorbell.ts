import type { JobName, JobPayload, QueueName } from './catalogue';

/** A request to ring, as a use case makes it inside its transaction. */
export type Doorbell = {
  [Q in QueueName]: { [N in JobName<Q>]: { queue: Q; name: N; payload: JobPayload<Q, N> } }[JobName<Q>];
}[QueueName];

/** What travels through Redis: ids, and whose request it was. */
export interface DoorbellData {
  payload: Record<string, unknown>;
  organizationId: string | null;
  requestId: string | null;
  traceparent: string | null;
}

/** A committed outbox row on its way to the queue; its id is the queue's job id. */
export interface OutboxMessage extends DoorbellData {
  id: string;
  queue: QueueName;
  name: string;
}
