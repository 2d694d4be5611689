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

/** An object of a deleted job that must be removed from the object store. */
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
  /** Time until which an upload that was already allowed may create the object. */
  @Column('timestamptz')
  lastArrivalAt!: Date;
  @Column('timestamptz', { nullable: true })
  enqueuedAt!: Date | null;
}
