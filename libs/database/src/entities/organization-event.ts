import type { OrganizationEventType } from '@muster/contracts';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** What an organization's stream tells beside what is on its machines' timelines; kept for days. */
@Entity('organization_event')
@Index('organization_event_time_idx', { synchronize: false })
export class OrganizationEventEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'organization_event_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** Which wrote it: rows become visible by the transaction, in no order that a number has. */
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
