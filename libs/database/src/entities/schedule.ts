import type {
  AccountRequest,
  ConcurrencyKey,
  MicroUsd,
  MisfirePolicy,
  TargetPreference,
  TickOutcome,
  StoredVariables,
} from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { JobEntity } from './job';
import { OrganizationEntity } from './organization';
import { WorkflowEntity } from './workflow';

@Entity('schedule')
@Check('schedule_max_runtime_check', 'max_runtime_minutes BETWEEN 1 AND 1320')
@Check('schedule_misfire_policy_check', "misfire_policy IN ('once', 'skip', 'all')")
@Check('schedule_last_result_check', "last_result IN ('launched', 'skipped', 'failed')")
@Index('schedule_organization_idx', ['organizationId', 'id'])
@Index('schedule_due_idx', ['nextRunAt', 'id'], { where: 'enabled' })
@Index('schedule_organization_due_idx', ['organizationId', 'nextRunAt', 'id'], { where: 'enabled' })
@Index('schedule_last_run_job_idx', ['lastRunJobId'], { where: 'last_run_job_id IS NOT NULL' })
@Index('schedule_agent_idx', ['agentId', 'id'])
@Index('schedule_workflow_idx', ['workflowId', 'id'])
@Index('schedule_agent_next_idx', ['agentId', 'nextRunAt'], { where: 'enabled' })
export class ScheduleEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'schedule_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  name!: string;
  @Column('uuid')
  @ForeignKey(() => WorkflowEntity, { name: 'schedule_workflow_fk', onDelete: 'CASCADE' })
  workflowId!: string;
  /** Agent of the runs; null if the schedule has a target. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => AgentEntity, { name: 'schedule_agent_fk', onDelete: 'CASCADE' })
  agentId!: string | null;
  /** Labels that the agent of each run must have; null if the schedule names its agent. */
  @Column('text', { array: true, nullable: true })
  targetLabels!: string[] | null;
  @Column('text', { nullable: true })
  targetPrefer!: TargetPreference | null;
  @Column('text')
  cronExpression!: string;
  @Column('text')
  timezone!: string;
  @Column('boolean', { default: true })
  enabled!: boolean;
  @Column('jsonb', { default: {} })
  variables!: StoredVariables;
  @Column('text', { array: true, default: [] })
  vaultKeys!: string[];
  /** Concurrency keys that each run holds from start to end, in addition to the keys of its workflow. */
  @Column('jsonb', { default: [] })
  concurrencyKeys!: ConcurrencyKey[];
  /** Accounts that each run gets, in addition to those of its workflow. */
  @Column('jsonb', { default: [] })
  accounts!: AccountRequest[];
  @Column('integer', { default: 720 })
  maxRuntimeMinutes!: number;
  @Column('integer', { default: 0 })
  maxRetries!: number;
  @Column('integer', { default: 0 })
  retryDelaySeconds!: number;
  @Column('integer', { nullable: true })
  concurrencyLimit!: number | null;
  @Column('integer', { nullable: true })
  idempotencyWindowMinutes!: number | null;
  /** Maximum cost of a run; null for no maximum. */
  @Column('bigint', { nullable: true })
  maxCostMicros!: MicroUsd | null;
  /** Pack installation whose pinned version the runs use; null if there is none. */
  @Column('uuid', { nullable: true })
  workflowPackInstallationId!: string | null;
  @Column('text', { default: 'once' })
  misfirePolicy!: MisfirePolicy;
  @Column('timestamptz', { nullable: true })
  nextRunAt!: Date | null;
  /** Nominal time for which the machine was last prewoken; null if it never was. */
  @Column('timestamptz', { nullable: true })
  prewokenFor!: Date | null;
  @Column('timestamptz', { nullable: true })
  lastRunAt!: Date | null;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => JobEntity, { name: 'schedule_last_run_job_fk', onDelete: 'SET NULL' })
  lastRunJobId!: string | null;
  @Column('text', { nullable: true })
  lastResult!: TickOutcome | null;
  /** Incremented with every change by a person, not by ticks. The ETag is computed from it. */
  @Column('integer', { default: 1 })
  version!: number;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  updatedAt!: Date;
}

@Entity('schedule_run')
@Check('schedule_run_kind_check', "kind IN ('tick', 'forced')")
@Check('schedule_run_outcome_check', "outcome IN ('launched', 'skipped', 'failed')")
@Index('schedule_run_launched_idx', ['scheduleId', 'firedAt'], { where: "outcome = 'launched'" })
@Index('schedule_run_job_idx', ['jobId'], { where: 'job_id IS NOT NULL' })
@Index('schedule_run_fired_idx', { synchronize: false })
export class ScheduleRunEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => ScheduleEntity, { name: 'schedule_run_schedule_fk', onDelete: 'CASCADE' })
  scheduleId!: string;
  @PrimaryColumn('timestamptz')
  nominalAt!: Date;
  @PrimaryColumn('text')
  kind!: 'tick' | 'forced';
  @Column('uuid')
  organizationId!: string;
  @Column('timestamptz')
  firedAt!: Date;
  @Column('text')
  outcome!: TickOutcome;
  @Column('text', { nullable: true })
  reason!: string | null;
  @Column('text', { nullable: true })
  detail!: string | null;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => JobEntity, { name: 'schedule_run_job_fk', onDelete: 'SET NULL' })
  jobId!: string | null;
}
