/* eslint-disable muster/one-clock -- Messages are dated by the database, as processes on several hosts compete for them. */
import type { QueueName } from '@muster/contracts';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A message that was enqueued in the transaction that made it necessary. The row exists until the message is handled. A
 * message that Redis loses is published again at nextPublishAt. A row without nextPublishAt is a dead letter.
 */
@Entity('outbox')
@Index('outbox_publish_idx', ['nextPublishAt'], { where: 'next_publish_at IS NOT NULL' })
@Index('outbox_dead_idx', ['id'], { where: 'next_publish_at IS NULL' })
@Index('outbox_dead_organization_idx', ['organizationId', 'id'], { where: 'next_publish_at IS NULL' })
export class OutboxEntity {
  /** Id of the message, and of its job in the queue. */
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  @Column('text') queue!: QueueName;
  @Column('text') name!: string;
  @Column('jsonb') payload!: Record<string, unknown>;
  @Column('text', { nullable: true }) requestId!: string | null;
  @Column('text', { nullable: true }) traceparent!: string | null;
  @Column('timestamptz', { nullable: true }) nextPublishAt!: Date | null;
  @Column('integer', { default: 0 }) attempts!: number;
  @Column('text', { nullable: true }) lastError!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) createdAt!: Date;
}

/** A probe message: it proves that an app processes its queue, which a ping of Redis does not prove. */
@Entity('queue_probe')
@Index('queue_probe_queue_idx', ['queue', 'id'])
export class QueueProbeEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') queue!: QueueName;
  @Column('timestamptz', { default: () => 'now()' }) requestedAt!: Date;
  @Column('timestamptz', { nullable: true }) handledAt!: Date | null;
  @Column('text', { nullable: true }) handledBy!: string | null;
  @Column('integer', { default: 0 }) deliveries!: number;
}
