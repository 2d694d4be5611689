import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/**
 * A run waits for a key, or holds it. It goes with the run's end, or where its machine is cleared after that, with the
 * end of the clearing: so it may outlive the row of a job that is deleted.
 */
@Entity('concurrency_lease')
@Index('concurrency_lease_job_idx', ['jobId'])
@Index('concurrency_lease_waiting_idx', ['agentId'], { where: 'since IS NULL' })
@Index('concurrency_lease_held_idx', ['agentId'], { where: 'since IS NOT NULL' })
export class ConcurrencyLeaseEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'concurrency_lease_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text')
  key!: string;
  @PrimaryColumn('uuid')
  jobId!: string;
  @Column('uuid')
  agentId!: string;
  /** The limit that the run asked for. */
  @Column('integer')
  most!: number;
  @Column('integer')
  priority!: number;
  @Column('timestamptz')
  queuedAt!: Date;
  /** Since when it is held; null while the run waits for it. */
  @Column('timestamptz', { nullable: true })
  since!: Date | null;
}
