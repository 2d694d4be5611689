import type {
  ArtifactKind,
  ClaimOutcome,
  AccountRequest,
  ConcurrencyKey,
  JobBundle,
  JobLack,
  JobStatus,
  MicroUsd,
  StepStatus,
  StoredVariables,
  TargetPreference,
  WaitingReason,
} from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentForeignKey } from './agent';
import { WorkflowEntity } from './workflow';

/** The rows of a class with this key refer only to jobs of their own organization. */
export const JobForeignKey = (name: string) =>
  ForeignKey(() => JobEntity, ['organizationId', 'jobId'], ['organizationId', 'id'], { name, onDelete: 'CASCADE' });

@Entity('job')
@Check('job_status_check', "status IN ('queued', 'running', 'completed', 'failed', 'cancelled')")
@Check('job_priority_check', 'priority BETWEEN 0 AND 10')
@Check('job_retry_backoff_check', "retry_backoff IN ('fixed', 'exponential')")
@Index('job_organization_key', ['organizationId', 'id'], { unique: true })
@Index('job_agent_idx', ['agentId', 'id'])
@Index('job_agent_started_idx', ['agentId', 'startedAt', 'id'], { where: 'started_at IS NOT NULL' })
@Index('job_status_idx', ['organizationId', 'status', 'id'], { where: "status <> 'completed'" })
@Index('job_workflow_idx', ['workflowId', 'id'])
@Index('job_batch_idx', ['batchId', 'id'], { where: 'batch_id IS NOT NULL' })
@Index('job_schedule_idx', ['scheduleId', 'id'], { where: 'schedule_id IS NOT NULL' })
@Index('job_schedule_open_idx', ['scheduleId'], {
  where: "schedule_id IS NOT NULL AND status IN ('queued', 'running')",
})
@Index('job_retry_idx', ['retryOf'], { where: 'retry_of IS NOT NULL' })
@Index('job_queue_idx', { synchronize: false })
@Index('job_unplaced_idx', { synchronize: false })
@Index('job_running_key', ['agentId'], { unique: true, where: "status = 'running'" })
@Index('job_reserved_idx', ['organizationId', 'reservedMicros'], { where: 'reserved_micros > 0' })
@Index('job_budget_idx', ['id'], { where: "status = 'running' AND max_cost_micros IS NOT NULL" })
@Index('job_organization_started_idx', ['organizationId', 'startedAt', 'id'], { where: 'started_at IS NOT NULL' })
@Index('job_organization_finished_idx', ['organizationId', 'finishedAt', 'id'], { where: 'finished_at IS NOT NULL' })
@Index('job_cancel_idx', ['cancelRequestedAt'], {
  where: "cancel_requested_at IS NOT NULL AND status IN ('queued', 'running')",
})
@Index('job_installation_queued_idx', ['workflowPackInstallationId', 'id'], {
  where: "status = 'queued' AND workflow_pack_installation_id IS NOT NULL",
})
@ForeignKey(() => WorkflowEntity, ['organizationId', 'workflowId'], ['organizationId', 'id'], {
  name: 'job_workflow_fk',
  onDelete: 'CASCADE',
})
@AgentForeignKey('job_agent_fk')
export class JobEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  organizationId!: string;
  @Column('uuid')
  workflowId!: string;
  @Column('integer')
  workflowRevision!: number;
  /** Agent of the job; null until the dispatcher has chosen one. */
  @Column('uuid', { nullable: true })
  agentId!: string | null;
  /** Labels that the agent must have; null if the job names its agent. */
  @Column('text', { array: true, nullable: true })
  targetLabels!: string[] | null;
  @Column('text', { nullable: true })
  targetPrefer!: TargetPreference | null;
  /** Digest of the labels: jobs with the same labels share a queue. Null if the job names its agent. */
  @Column('uuid', { nullable: true })
  targetGroup!: string | null;
  /** Whether a retry runs on the agent of the attempt before it, even if the job named no agent. */
  @Column('boolean', { default: false })
  retrySameAgent!: boolean;
  /** Time at which the dispatcher chose the agent; null if the job named it or has none yet. */
  @Column('timestamptz', { nullable: true })
  placedAt!: Date | null;
  /** Reason for which the dispatcher chose the agent. */
  @Column('text', { nullable: true })
  placementWhy!: string | null;
  @Column('uuid', { nullable: true })
  scheduleId!: string | null;
  @Column('uuid', { nullable: true })
  batchId!: string | null;
  @Column('integer', { nullable: true })
  batchRow!: number | null;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => JobEntity, { name: 'job_retry_fk', onDelete: 'SET NULL' })
  retryOf!: string | null;
  @Column('integer', { default: 1 })
  attempt!: number;
  @Column('text', { default: 'queued' })
  status!: JobStatus;
  @Column('integer', { default: 5 })
  priority!: number;
  @Column('jsonb', { default: {} })
  variables!: StoredVariables;
  @Column('text', { array: true, default: [] })
  vaultKeys!: string[];
  /** Concurrency keys that the run must hold, with variables filled in; null if it requests none. */
  @Column('jsonb', { nullable: true })
  concurrencyKeys!: Required<ConcurrencyKey>[] | null;
  /** Accounts that the run gets when it starts; null if it requests none. */
  @Column('jsonb', { nullable: true })
  accounts!: AccountRequest[] | null;
  @Column('integer', { default: 0 })
  maxRetries!: number;
  @Column('bigint', { default: 0 })
  retryDelayMs!: number;
  @Column('text', { default: 'fixed' })
  retryBackoff!: 'fixed' | 'exponential';
  @Column('bigint', { default: 43200000 })
  maxRuntimeMs!: number;
  @Column('uuid', { nullable: true })
  workflowPackInstallationId!: string | null;
  /** Pack version that the run uses: fixed at the launch and inherited by retries. Null if the run uses no pack. */
  @Column('jsonb', { nullable: true })
  bundle!: JobBundle | null;
  @Column('jsonb', { default: {} })
  lineage!: Record<string, string>;
  @Column('timestamptz', { default: () => 'muster_now()' })
  queuedAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  notBefore!: Date;
  @Column('timestamptz', { nullable: true })
  dispatchedAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  startedAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  lastHeartbeatAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  lastProgressAt!: Date | null;
  @Column('text', { nullable: true })
  waitingReason!: WaitingReason | null;
  @Column('timestamptz', { nullable: true })
  waitingSince!: Date | null;
  @Column('timestamptz', { nullable: true })
  cancelRequestedAt!: Date | null;
  @Column('text', { nullable: true })
  cancelReason!: string | null;
  @Column('integer', { default: 0 })
  cancelStep!: number;
  @Column('uuid', { nullable: true })
  commandId!: string | null;
  @Column('bigint', { default: -1 })
  webhookSeq!: number;
  @Column('double precision', { nullable: true })
  percent!: number | null;
  @Column('text', { nullable: true })
  currentStep!: string | null;
  @Column('integer', { default: 0 })
  claimsAttempted!: number;
  @Column('integer', { default: 0 })
  claimsEobUploaded!: number;
  @Column('integer', { default: 0 })
  claimsNoEobFound!: number;
  @Column('integer', { default: 0 })
  claimsFailed!: number;
  /** Cost that is known so far; after the run's end, the total of its run_cost. Null if none is known. */
  @Column('bigint', { nullable: true })
  totalCostMicros!: MicroUsd | null;
  /** Cost that the worker reported; null if it reported none. */
  @Column('bigint', { nullable: true })
  reportedCostMicros!: MicroUsd | null;
  /** Budget of the run. A run that costs more is stopped. Null for no budget. */
  @Column('bigint', { nullable: true })
  maxCostMicros!: MicroUsd | null;
  /** Amount reserved from the month's spend limit, from the launch until the cost is known. */
  @Column('bigint', { default: 0 })
  reservedMicros!: MicroUsd;
  @Column('text', { nullable: true })
  error!: string | null;
  @Column('text', { nullable: true })
  errorCode!: string | null;
  @Column('jsonb', { nullable: true })
  result!: Record<string, unknown> | null;
  /**
   * Names in the result whose values are encrypted; null for none. The workflow listed them at the launch. The end of
   * the run adds the names of values that contain a sensitive variable.
   */
  @Column('text', { array: true, nullable: true })
  sensitiveResults!: string[] | null;
  @Column('jsonb', { default: [] })
  incomplete!: JobLack[];
  @Column('text', { nullable: true })
  screenshotKey!: string | null;
  @Column('timestamptz', { nullable: true })
  billedAt!: Date | null;
  @Column('text', { nullable: true })
  requestId!: string | null;
  @Column('text', { nullable: true })
  traceparent!: string | null;
  @Column('timestamptz', { nullable: true })
  stalledAt!: Date | null;
}

/** A job that was dispatched, so it has an agent. */
export type PlacedJob = Omit<JobEntity, 'agentId'> & { agentId: string };

@Entity('job_step')
@Check('job_step_status_check', "status IN ('pending', 'running', 'passed', 'failed', 'skipped')")
@JobForeignKey('job_step_job_fk')
export class JobStepEntity {
  @PrimaryColumn('uuid')
  jobId!: string;
  @PrimaryColumn('integer')
  stepOrder!: number;
  @Column('uuid')
  organizationId!: string;
  @Column('text', { nullable: true })
  stepId!: string | null;
  @Column('text', { nullable: true })
  name!: string | null;
  @Column('text')
  status!: StepStatus;
  @Column('bigint')
  stateKey!: number;
  @Column('timestamptz', { nullable: true })
  startedAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
  @Column('text', { nullable: true })
  error!: string | null;
  @Column('jsonb', { nullable: true })
  metadata!: Record<string, unknown> | null;
  @Column('bigint', { default: -1 })
  metadataKey!: number;
}

@Entity('ai_usage')
@JobForeignKey('ai_usage_job_fk')
export class AiUsageEntity {
  @PrimaryColumn('uuid')
  jobId!: string;
  @PrimaryColumn('integer')
  stepOrder!: number;
  @PrimaryColumn('bigint')
  seq!: number;
  @Column('uuid')
  organizationId!: string;
  @Column('text')
  provider!: string;
  @Column('text')
  model!: string;
  @Column('bigint', { default: 0 })
  inputTokens!: number;
  @Column('bigint', { default: 0 })
  outputTokens!: number;
  @Column('bigint', { nullable: true })
  costMicros!: MicroUsd | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  reportedAt!: Date;
}

@Entity('claim_outcome')
@Check('claim_outcome_outcome_check', "outcome IN ('eob_uploaded', 'no_eob_found', 'failed')")
@JobForeignKey('claim_outcome_job_fk')
export class ClaimOutcomeEntity {
  @PrimaryColumn('uuid')
  jobId!: string;
  @PrimaryColumn('text')
  claimId!: string;
  @Column('uuid')
  organizationId!: string;
  /**
   * NPI (number of the health care provider); empty if none was reported. A claim is identified by its id and its NPI
   * together.
   */
  @PrimaryColumn('text', { default: '' })
  npi!: string;
  @Column('text')
  outcome!: ClaimOutcome;
  @Column('text', { nullable: true })
  message!: string | null;
  @Column('jsonb', { nullable: true })
  metadata!: Record<string, unknown> | null;
  /**
   * Time at which the worker signed the report. The report that was signed later replaces an earlier one, in whichever
   * order they arrive.
   */
  @Column('timestamptz', { default: () => 'muster_now()' })
  signedAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  firstAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  updatedAt!: Date;
}

@Entity('job_log_seen')
@JobForeignKey('job_log_seen_job_fk')
export class JobLogSeenEntity {
  @PrimaryColumn('uuid')
  jobId!: string;
  @Column('uuid')
  organizationId!: string;
  @Column('int8multirange', { default: () => "'{}'" })
  seqs!: string;
}

@Entity('artifact')
@Index('artifact_storage_key', ['storageKey'], { unique: true })
@Index('artifact_job_idx', ['jobId', 'id'], { where: 'job_id IS NOT NULL' })
@Index('artifact_agent_idx', ['agentId', 'id'])
@Index('artifact_organization_idx', ['organizationId', 'id'])
@Index('artifact_kind_idx', ['organizationId', 'kind', 'id'])
@Index('artifact_imaging_idx', ['organizationId', 'createdAt'], { where: "storage_key LIKE 'imaging/%'" })
@Index('artifact_session_idx', ['organizationId', 'createdAt'], {
  where: "filename LIKE 'session-%' AND job_id IS NULL",
})
@AgentForeignKey('artifact_agent_fk')
@JobForeignKey('artifact_job_fk')
export class ArtifactEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  organizationId!: string;
  @Column('uuid')
  agentId!: string;
  @Column('uuid', { nullable: true })
  jobId!: string | null;
  @Column('text')
  kind!: ArtifactKind;
  @Column('text')
  filename!: string;
  @Column('text')
  contentType!: string;
  @Column('bigint')
  size!: number;
  /** Key of the object in the object storage. */
  @Column('text')
  storageKey!: string;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
}
