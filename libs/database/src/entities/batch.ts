import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';
import { WorkflowEntity } from './workflow';

@Entity('batch')
@Index('batch_organization_idx', ['organizationId', 'id'])
@Index('batch_workflow_idx', ['workflowId', 'id'])
@Index('batch_total_idx', ['organizationId', 'total', 'id'])
export class BatchEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'batch_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => WorkflowEntity, { name: 'batch_workflow_fk', onDelete: 'CASCADE' })
  workflowId!: string;
  @Column('integer')
  workflowRevision!: number;
  /** Pack installation whose pinned version the runs use; null if there is none. */
  @Column('uuid', { nullable: true })
  workflowPackInstallationId!: string | null;
  @Column('integer')
  total!: number;
  @Column('integer')
  rejected!: number;
  @Column('text')
  createdBy!: string;
  @Column('timestamptz', { nullable: true })
  cancelRequestedAt!: Date | null;
  @Column('text', { nullable: true })
  cancelReason!: string | null;
  @Column('text', { nullable: true })
  cancelSource!: 'api' | 'console' | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
}
