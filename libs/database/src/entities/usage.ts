import type { MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { JobForeignKey } from './job';
import { OrganizationEntity } from './organization';

@Entity('run_cost')
@Check('run_cost_total_check', 'total_micros = compute_micros + ai_micros + reported_micros')
@Index('run_cost_total_idx', ['organizationId', 'totalMicros', 'jobId'])
@Index('run_cost_duration_idx', ['organizationId', 'durationMs', 'jobId'], { where: 'duration_ms IS NOT NULL' })
@JobForeignKey('run_cost_job_fk')
export class RunCostEntity {
  @PrimaryColumn('uuid')
  jobId!: string;
  @Column('uuid')
  organizationId!: string;
  /** Price of the machine per hour when the run's cost was first computed. */
  @Column('bigint')
  computeMicrosPerHour!: MicroUsd;
  @Column('bigint')
  computeMicros!: MicroUsd;
  @Column('bigint')
  aiMicros!: MicroUsd;
  /** Amount by which the cost that the worker reported exceeds the computed costs. */
  @Column('bigint')
  reportedMicros!: MicroUsd;
  @Column('bigint')
  totalMicros!: MicroUsd;
  /**
   * Time from the run's start to its end in milliseconds; null if it never started. It is stored here
   * and not in `job`, because a row of this table is written once and a row of `job` is updated several times.
   */
  @Column('bigint', { nullable: true })
  durationMs!: number | null;
  /**
   * Prices of the run's model usage when it was first priced, by model and day. Later price changes have no effect
   * until a recompute is requested.
   */
  @Column('jsonb', { default: [] })
  prices!: object[];
  @Column('timestamptz', { default: () => 'muster_now()' })
  computedAt!: Date;
}

/**
 * A part of the cost of a run or of a model call. It outlives the job, so it has the ids by which costs are grouped.
 */
@Entity('run_cost_component')
@Check('run_cost_component_kind_check', "kind IN ('ai', 'compute', 'reported')")
@Index('run_cost_component_time_idx', ['organizationId', 'finishedAt'])
export class RunCostComponentEntity {
  /** Id of the run, or of the model call. */
  @PrimaryColumn('uuid')
  jobId!: string;
  @PrimaryColumn('integer')
  position!: number;
  @Column('uuid')
  organizationId!: string;
  @Column('uuid', { nullable: true })
  workflowId!: string | null;
  @Column('uuid', { nullable: true })
  agentId!: string | null;
  @Column('uuid', { nullable: true })
  scheduleId!: string | null;
  /** Purpose of the model call; null for a run. */
  @Column('text', { nullable: true })
  purpose!: string | null;
  /** End of the run; null for a run that never started, which belongs to no day. */
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
  @Column('text')
  kind!: 'ai' | 'compute' | 'reported';
  @Column('text', { nullable: true })
  provider!: string | null;
  @Column('text', { nullable: true })
  model!: string | null;
  @Column('numeric')
  quantity!: string;
  @Column('text')
  unit!: string;
  /** Exact price in USD, finer than micro-dollars, because a token costs less than one. */
  @Column('numeric')
  unitPriceUsd!: string;
  @Column('bigint')
  amountMicros!: MicroUsd;
  @Column('boolean', { default: false })
  unpriced!: boolean;
}

@Entity('usage_event')
@Check('usage_event_kind_check', "kind IN ('run', 'spend')")
@Index('usage_event_month_idx', ['organizationId', 'month'])
@Index('usage_event_uncounted_idx', ['organizationId', 'month'], { where: 'NOT counted' })
export class UsageEventEntity {
  @PrimaryColumn('uuid')
  jobId!: string;
  @PrimaryColumn('text')
  kind!: string;
  @PrimaryColumn('integer', { default: 1 })
  revision!: number;
  @Column('uuid')
  organizationId!: string;
  @Column('date')
  month!: string;
  @Column('text', { nullable: true })
  outcome!: string | null;
  @Column('bigint', { default: 0 })
  runMs!: number;
  @Column('bigint', { default: 0 })
  spendMicros!: MicroUsd;
  @Column('timestamptz', { default: () => 'muster_now()' })
  at!: Date;
  /** Whether the event is in its month's counter. The event of a run is added to it when the run's cost is booked. */
  @Column('boolean', { default: true })
  counted!: boolean;
}

@Entity('usage_counter')
export class UsageCounterEntity {
  @PrimaryColumn('uuid')
  organizationId!: string;
  @PrimaryColumn('date')
  month!: string;
  @Column('bigint', { default: 0 })
  runs!: number;
  @Column('bigint', { default: 0 })
  completed!: number;
  @Column('bigint', { default: 0 })
  failed!: number;
  @Column('bigint', { default: 0 })
  cancelled!: number;
  @Column('bigint', { default: 0 })
  runMs!: number;
  @Column('bigint', { default: 0 })
  spendMicros!: MicroUsd;
}

/** A notice that a month's limit is near or reached. It is emitted once, whatever the usage does afterwards. */
@Entity('limit_notice')
@Check('limit_notice_level_check', "level IN ('near', 'reached')")
export class LimitNoticeEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'limit_notice_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('date')
  month!: string;
  /** Name of the limit in the organization's settings. */
  @PrimaryColumn('text')
  limitName!: 'monthlyRunLimit' | 'monthlySpendLimitUsd';
  @PrimaryColumn('text')
  level!: 'near' | 'reached';
  /** Value of the limit in runs or micro-dollars. A limit whose value was changed counts as a new limit. */
  @PrimaryColumn('bigint')
  max!: number;
  @Column('timestamptz', { default: () => 'muster_now()' })
  at!: Date;
}

/**
 * A comparison of all counters with the events that they count. `night` is null for a comparison that was requested.
 */
@Entity('usage_reconciliation')
@Index('usage_reconciliation_night_key', ['night'], { unique: true })
@Index('usage_reconciliation_finished_idx', ['finishedAt'])
export class UsageReconciliationEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('date', { nullable: true })
  night!: string | null;
  @Column('timestamptz')
  beganAt!: Date;
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
  @Column('integer', { default: 0 })
  organizations!: number;
  @Column('integer', { default: 0 })
  differing!: number;
  @Column('jsonb', { default: [] })
  differences!: object[];
}
