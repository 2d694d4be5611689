import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

@Entity('deleted_job')
export class DeletedJobEntity {
  @PrimaryColumn('uuid')
  jobId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'deleted_job_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  agentId!: string;
  @Column('timestamptz', { default: () => 'muster_now()' })
  deletedAt!: Date;
}

/** An object of a deleted job that is to go from the store. */
@Entity('object_removal')
@Index('object_removal_job_idx', ['jobId', 'storageKey'])
@Index('object_removal_due_idx', ['lastArrivalAt'])
export class ObjectRemovalEntity {
  @PrimaryColumn('text')
  storageKey!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'object_removal_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  jobId!: string;
  /** Until then an upload that was allowed may bring it. */
  @Column('timestamptz')
  lastArrivalAt!: Date;
  @Column('timestamptz', { nullable: true })
  enqueuedAt!: Date | null;
}
