import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** A worker machine. */
@Entity('agent')
@Check(
  'agent_status_check',
  "status IN ('online', 'offline', 'stopped', 'starting', 'stopping', 'rebooting', 'draining', 'terminated')",
)
@Index('agent_organization_idx', ['organizationId', 'id'])
export class AgentEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'agent_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') name!: string;
  @Column('text', { default: 'offline' }) status!: string;
  @Column('text', { default: 'external' }) provider!: string;
  @Column('timestamptz', { default: () => 'now()' }) createdAt!: Date;
}
