import type { OrganizationEventType } from '@muster/contracts';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** An event on an organization's stream that is on no agent's timeline. Retained for a few days. */
@Entity('organization_event')
@Index('organization_event_time_idx', { synchronize: false })
export class OrganizationEventEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'organization_event_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /**
   * Transaction that wrote the row. Rows become visible when their transaction commits, and no sequence number has this
   * order.
   */
  @PrimaryColumn('bigint')
  transactionId!: number;
  @PrimaryColumn('uuid')
  id!: string;
  @Column('text')
  type!: OrganizationEventType;
  @Column('jsonb')
  data!: Record<string, unknown>;
  @Column('timestamptz', { default: () => 'muster_now()' })
  at!: Date;
}
