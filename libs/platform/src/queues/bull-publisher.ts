import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type MessageData, type OutboxMessage, type QueueName } from '@muster/contracts';
import { Queue } from 'bullmq';
import { MessagePublisher } from './message-ledger';
import { openPublishSpan } from './message-spans';
import { RedisConnections } from './redis-connections';

@Injectable()
export class BullPublisher extends MessagePublisher implements OnApplicationShutdown {
  private readonly queues = new Map<QueueName, Queue>();

  constructor(@Inject(RedisConnections) private readonly connections: RedisConnections) {
    super();
  }

  override async publish(messages: OutboxMessage[]): Promise<void> {
    const queues = new Map<QueueName, OutboxMessage[]>();
    for (const message of messages) {
      const list = queues.get(message.queue) ?? [];
      list.push(message);
      queues.set(message.queue, list);
    }
    await Promise.all([...queues].map(([queue, list]) => this.addToQueue(queue, list)));
  }

  private async addToQueue(queue: QueueName, messages: OutboxMessage[]): Promise<void> {
    const spans = messages.map(openPublishSpan);
    await this.getQueue(queue).addBulk(
      messages.map(({ id, name, payload, organizationId, requestId }, at) => ({
        name,
        data: { payload, organizationId, requestId, traceparent: spans[at]!.traceparent } satisfies MessageData,
        // The outbox id is the job id, so a second message is a no-op while the first one waits or is being handled.
        // Ended jobs are removed, because a stored job would turn the message of a retry into a no-op.
        opts: { jobId: id, removeOnComplete: true, removeOnFail: true },
      })),
    );
    for (const span of spans) span.end();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  private getQueue(name: QueueName): Queue {
    const existing = this.queues.get(name);
    if (existing) return existing;
    const queue = new Queue(name, {
      connection: this.connections.getPublisher(),
      prefix: this.connections.queuePrefix,
      skipVersionCheck: true,
    });
    // The listener of the connection logs errors. Without a listener here, an error would end the process.
    queue.on('error', () => undefined);
    this.queues.set(name, queue);
    return queue;
  }
}
