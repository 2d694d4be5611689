import type { AccountRequest, ConcurrencyKey, MicroUsd } from '@muster/contracts';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

@Entity('workflow')
@Index('workflow_organization_key', ['organizationId', 'id'], { unique: true })
export class WorkflowEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'workflow_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  name!: string;
  @Column('text', { default: '' })
  description!: string;
  /** Maximum cost of a run; null for no maximum. */
  @Column('bigint', { nullable: true })
  maxCostMicros!: MicroUsd | null;
  /** Pack installation whose pinned version the runs use; null if there is none. */
  @Column('uuid', { nullable: true })
  workflowPackInstallationId!: string | null;
  /** Concurrency keys that each run requests. */
  @Column('jsonb', { default: [] })
  concurrencyKeys!: ConcurrencyKey[];
  /** Accounts that each run requests. */
  @Column('jsonb', { default: [] })
  accounts!: AccountRequest[];
  /** Variables whose values are stored encrypted in each run. */
  @Column('text', { array: true, default: [] })
  sensitiveVariables!: string[];
  /** Top-level names of the result whose values are stored encrypted in each run. */
  @Column('text', { array: true, default: [] })
  sensitiveResults!: string[];
  /** Source from which the workflow was generated; null if a person wrote it. */
  @Column('jsonb', { nullable: true })
  source!: { kind: 'video'; recordingId: string | null } | null;
  @Column('integer', { default: 1 })
  revision!: number;
  /** Incremented with every change, also of metadata. The ETag is computed from it. */
  @Column('integer', { default: 1 })
  version!: number;
  @Column('timestamptz', { nullable: true })
  archivedAt!: Date | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  updatedAt!: Date;
}

@Entity('workflow_revision')
export class WorkflowRevisionEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => WorkflowEntity, { name: 'workflow_revision_workflow_fk', onDelete: 'CASCADE' })
  workflowId!: string;
  @PrimaryColumn('integer')
  revision!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'workflow_revision_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text', { array: true, default: [] })
  variables!: string[];
  @Column('text', { default: '' })
  script!: string;
  @Column('jsonb', { default: [] })
  steps!: Record<string, unknown>[];
  @Column('integer', { nullable: true })
  restoredFrom!: number | null;
  @Column('text')
  savedBy!: string;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
}
