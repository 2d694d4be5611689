import { Column, Entity, ForeignKey, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { OrganizationEntity } from './organization';
import { PilotBatchEntity } from './pilot';

/** The times of a batch's claims, exactly, for what is computed over them. They outlive the claims themselves. */
@Entity('pilot_roi_metric')
export class PilotRoiMetricEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => PilotBatchEntity, { name: 'pilot_roi_metric_batch_fk', onDelete: 'CASCADE' })
  pilotBatchId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_roi_metric_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** Ascending. */
  @Column('bigint', { array: true })
  processingMicros!: number[];
  /** The claims themselves went, with their job or with their time: the batch's counts stand for them. */
  @Column('boolean', { default: false })
  claimsGone!: boolean;
}

/** That something changed which the rollups sum, in the transaction that changed it. Settled before they are read. */
@Entity('pilot_roi_change')
@Index('pilot_roi_change_organization_idx', ['organizationId', 'id'])
export class PilotRoiChangeEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_roi_change_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** Of the batch that changed; null where only its job's cost did. */
  @Column('timestamptz', { nullable: true })
  occurredAt!: Date | null;
  @Column('uuid', { nullable: true })
  jobId!: string | null;
}

/** The zone whose days an organization's rollups are of, and how often they were settled. */
@Entity('pilot_roi_state')
export class PilotRoiStateEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_roi_state_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  timezone!: string;
  @Column('bigint', { default: 0 })
  revision!: number;
}

/** A day's claims, of a workflow or, under the id of zeros, of all. */
@Entity('pilot_roi_day')
export class PilotRoiDayEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_roi_day_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('uuid')
  workflowId!: string;
  @PrimaryColumn('date')
  day!: string;
  @Column('integer')
  batches!: number;
  @Column('integer')
  attempted!: number;
  @Column('integer')
  eobUploaded!: number;
  @Column('integer')
  noEobFound!: number;
  @Column('integer')
  failed!: number;
  @Column('integer')
  timed!: number;
  @Column('bigint')
  processingMicros!: number | bigint;
  /** How many times lie in which bucket (libs/pilot/src/roi/histogram.ts). */
  @Column('bytea')
  histogram!: Buffer;
}

/** A day's times in one bucket: each that there is, and how often. */
@Entity('pilot_roi_times')
export class PilotRoiTimesEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_roi_times_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('uuid')
  workflowId!: string;
  @PrimaryColumn('integer')
  bucket!: number;
  @PrimaryColumn('date')
  day!: string;
  /** Packed like the histogram, with microseconds in place of buckets. */
  @Column('bytea')
  times!: Buffer;
}

/**
 * What the jobs cost that a day's batches name, by the day of the batch before which named them too: in a range, a job
 * belongs to the first of its days that lie in it, and that is the one whose day before lies in front of the range.
 */
@Entity('pilot_roi_cost')
export class PilotRoiCostEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_roi_cost_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('uuid')
  workflowId!: string;
  @PrimaryColumn('date')
  day!: string;
  /** -infinity where there is none. */
  @PrimaryColumn('date')
  dayBefore!: string;
  /** Without those that were deleted. */
  @Column('integer')
  jobs!: number;
  @Column('bigint')
  costMicros!: number | bigint;
}
