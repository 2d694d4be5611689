import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A concurrency key that a run holds or waits for. The row is deleted when the run ends; if the agent is cleaned up
 * after the run, it is deleted when the cleanup ends. So it may outlive the row of a deleted job.
 */
@Entity('concurrency_lease')
@Index('concurrency_lease_job_idx', ['jobId'])
@Index('concurrency_lease_waiting_idx', ['agentId'], { where: 'since IS NULL' })
@Index('concurrency_lease_held_idx', ['agentId'], { where: 'since IS NOT NULL' })
export class ConcurrencyLeaseEntity {
  @PrimaryColumn('uuid')
  organizationId!: string;
  @PrimaryColumn('text')
  key!: string;
  @PrimaryColumn('uuid')
  jobId!: string;
  /** Agent of the job; null until the dispatcher has chosen one. */
  @Column('uuid', { nullable: true })
  agentId!: string | null;
  /** Maximum number of runs with this key, as the run requested it. */
  @Column('integer')
  most!: number;
  @Column('integer')
  priority!: number;
  @Column('timestamptz')
  queuedAt!: Date;
  /** Time since which the run holds the key; null while it waits. */
  @Column('timestamptz', { nullable: true })
  since!: Date | null;
}
