import { Column, Entity, ForeignKey, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { OrganizationEntity } from './organization';
import { PilotBatchEntity } from './pilot';

/** The exact processing times of a batch's claims, for figures over many claims. The row outlives the claims. */
@Entity('pilot_roi_metric')
export class PilotRoiMetricEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => PilotBatchEntity, { name: 'pilot_roi_metric_batch_fk', onDelete: 'CASCADE' })
  pilotBatchId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_roi_metric_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** Processing times of the batch's claims in microseconds, in ascending order. */
  @Column('bigint', { array: true })
  processingMicros!: number[];
  /** Whether the claims were deleted, with their job or by retention. Then the counts of the batch replace them. */
  @Column('boolean', { default: false })
  claimsGone!: boolean;
}

/**
 * A change of data that the rollups contain, written in the same transaction. The rollups are refreshed from these rows
 * before they are read.
 */
@Entity('pilot_roi_change')
@Index('pilot_roi_change_organization_idx', ['organizationId', 'id'])
export class PilotRoiChangeEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_roi_change_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** Time of the batch that changed; null if only the cost of its job changed. */
  @Column('timestamptz', { nullable: true })
  occurredAt!: Date | null;
  @Column('uuid', { nullable: true })
  jobId!: string | null;
}

/** The time zone of the days in an organization's rollups, and the number of refreshes. */
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

/** Totals of the claims of one day: of one workflow, or of all workflows if the workflow id consists of zeros. */
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
  /** Histogram: the number of processing times in each bucket, encoded by libs/pilot/src/roi/histogram.ts. */
  @Column('bytea')
  histogram!: Buffer;
}

/** The processing times of one day in one bucket: each distinct time and its count. */
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
  /** Encoded like the histogram of `pilot_roi_day`, with processing times in microseconds instead of buckets. */
  @Column('bytea')
  times!: Buffer;
}

/**
 * The cost of the jobs that the batches of a day name. Batches of several days may name the same job, so the rows of a
 * day are grouped by `dayBefore`, the previous day on which a batch named the same jobs. A range of days counts each
 * job once, on the first of its days in the range: the day whose `dayBefore` precedes the range.
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
  /** Latest earlier day on which a batch named the same jobs; -infinity if there is none. */
  @PrimaryColumn('date')
  dayBefore!: string;
  /** Number of jobs that the batches name, without deleted jobs. */
  @Column('integer')
  jobs!: number;
  @Column('bigint')
  costMicros!: number | bigint;
  /** Time for which the jobs waited for people, as far as their questions have ended. */
  @Column('bigint', { default: 0 })
  waitingMicros!: number | bigint;
}
