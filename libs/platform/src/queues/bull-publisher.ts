import { getQueueToken } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { type DoorbellData, type OutboxMessage, type QueueName } from '@muster/contracts';
import type { Queue } from 'bullmq';
import { DoorbellPublisher } from './doorbell-ledger';

@Injectable()
export class BullPublisher extends DoorbellPublisher {
  constructor(private readonly moduleRef: ModuleRef) {
    super();
  }

  override async publish(messages: OutboxMessage[]): Promise<void> {
    const queues = new Map<QueueName, OutboxMessage[]>();
    for (const message of messages) {
      const list = queues.get(message.queue) ?? [];
      list.push(message);
      queues.set(message.queue, list);
    }
    await Promise.all([...queues].map(([queue, list]) => this.ring(queue, list)));
  }

  private async ring(queue: QueueName, messages: OutboxMessage[]): Promise<void> {
    const target = this.moduleRef.get<Queue>(getQueueToken(queue), { strict: false });
    await target.addBulk(
      messages.map(({ id, name, payload, organizationId, requestId, traceparent }) => ({
        name,
        data: { payload, organizationId, requestId, traceparent } satisfies DoorbellData,
        // The outbox id is the job id: while a ring is waiting or at work, a second one is a no-op. Nothing is kept
        // afterwards, because a kept job would swallow the ring of a retry.
        opts: { jobId: id, removeOnComplete: true, removeOnFail: true },
      })),
    );
  }
}
