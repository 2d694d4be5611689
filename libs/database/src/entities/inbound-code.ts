import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** An address to which an SMS or mail gateway posts messages with codes. */
@Entity('inbound_code')
@Index('inbound_code_name_key', ['organizationId', 'name'], { unique: true })
export class InboundCodeEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'inbound_code_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') name!: string;
  /** Regular expression whose first group is the code; null for the default rule. */
  @Column('text', { nullable: true }) pattern!: string | null;
  /** Senders whose messages are accepted; empty for all senders. */
  @Column('text', { array: true, default: [] }) senders!: string[];
  /** Sealed secret with which the gateway signs its messages. */
  @Column('jsonb') sealed!: Record<string, string>;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
}

/**
 * A received message, stored so that it is processed only once. It contains the sealed code until a run receives it.
 */
@Entity('inbound_message')
@Index('inbound_message_received_idx', ['receivedAt'])
@Index('inbound_message_organization_idx', ['organizationId'])
export class InboundMessageEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => InboundCodeEntity, { name: 'inbound_message_inbound_fk', onDelete: 'CASCADE' })
  inboundId!: string;
  @PrimaryColumn('text') fingerprint!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'inbound_message_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('jsonb', { nullable: true }) sealed!: Record<string, string> | null;
  @Column('timestamptz', { default: () => 'muster_now()' }) receivedAt!: Date;
}
