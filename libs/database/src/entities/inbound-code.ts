import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** An address that an SMS or mail gateway posts messages with codes to. */
@Entity('inbound_code')
@Index('inbound_code_name_key', ['organizationId', 'name'], { unique: true })
export class InboundCodeEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'inbound_code_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') name!: string;
  /** Its first group is the code. */
  @Column('text', { nullable: true }) pattern!: string | null;
  /** Whose messages count; everybody's where it is empty. */
  @Column('text', { array: true, default: [] }) senders!: string[];
  /** What its messages are signed with. */
  @Column('jsonb') sealed!: Record<string, string>;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
}

/** A message that came, so that it counts once; with its code, sealed, while nobody has it. */
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
