import type { MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { JobEntity } from './job';
import { OrganizationEntity } from './organization';

@Entity('run_cost')
@Check('run_cost_total_check', 'total_micros = compute_micros + ai_micros + reported_micros')
@Index('run_cost_total_idx', ['organizationId', 'totalMicros', 'jobId'])
@Index('run_cost_duration_idx', ['organizationId', 'durationMs', 'jobId'], { where: 'duration_ms IS NOT NULL' })
export class RunCostEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => JobEntity, { name: 'run_cost_job_fk', onDelete: 'CASCADE' })
  jobId!: string;
  @Column('uuid')
  organizationId!: string;
  /** What the machine cost for an hour when the run's cost was first computed. */
  @Column('bigint')
  computeMicrosPerHour!: MicroUsd;
  @Column('bigint')
  computeMicros!: MicroUsd;
  @Column('bigint')
  aiMicros!: MicroUsd;
  /** What its worker said beyond the others. */
  @Column('bigint')
  reportedMicros!: MicroUsd;
  @Column('bigint')
  totalMicros!: MicroUsd;
  /** From its start to its end; null where it never started. Here and not with the job: a row that is written once. */
  @Column('bigint', { nullable: true })
  durationMs!: number | null;
  /** The prices that its usages were first found to have, by model and day: later ones don't change it by themselves. */
  @Column('jsonb', { default: [] })
  prices!: object[];
  @Column('timestamptz', { default: () => 'muster_now()' })
  computedAt!: Date;
}

/** What a run, or a call of a model, cost, in parts. It outlives the job, with what costs are grouped by. */
@Entity('run_cost_component')
@Check('run_cost_component_kind_check', "kind IN ('ai', 'compute', 'reported')")
@Index('run_cost_component_time_idx', ['organizationId', 'finishedAt'])
export class RunCostComponentEntity {
  /** Or the id of the model's call. */
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
  /** What a model was called for; null for a run's. */
  @Column('text', { nullable: true })
  purpose!: string | null;
  /** Null for a run that never started: it belongs to no day. */
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
  /** Exact, and finer than money: a token costs less than a micro-dollar. */
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
  /** Whether it is in its month's counter. A run's joins it when the run's cost is settled. */
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

/** That an organization was told of a month's limit, near or reached: once, whatever its use does afterwards. */
@Entity('limit_notice')
@Check('limit_notice_level_check', "level IN ('near', 'reached')")
export class LimitNoticeEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'limit_notice_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('date')
  month!: string;
  /** As the organization's settings name it. */
  @PrimaryColumn('text')
  limitName!: 'monthlyRunLimit' | 'monthlySpendLimitUsd';
  @PrimaryColumn('text')
  level!: 'near' | 'reached';
  /** Runs, or micro-dollars: one that is set anew is another limit. */
  @PrimaryColumn('bigint')
  max!: number;
  @Column('timestamptz', { default: () => 'muster_now()' })
  at!: Date;
}

/** A comparison of all counters with what they count; the night is that of one that nobody asked for. */
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
