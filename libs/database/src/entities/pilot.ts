import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { JobEntity } from './job';
import { OrganizationEntity } from './organization';

/** A practice's run summary, as it was told last. It is known by its organization and its own batch id. */
@Entity('pilot_batch')
@Index('pilot_batch_key', ['organizationId', 'batchId'], { unique: true })
@Index('pilot_batch_occurred_idx', ['organizationId', 'occurredAt', 'id'])
@Index('pilot_batch_workflow_idx', ['organizationId', 'workflowId', 'occurredAt', 'id'], {
  where: 'workflow_id IS NOT NULL',
})
@Index('pilot_batch_named_job_idx', ['organizationId', 'namedJobId', 'occurredAt'], {
  where: 'named_job_id IS NOT NULL',
})
@Index('pilot_batch_job_idx', ['jobId', 'occurredAt', 'id'], { where: 'job_id IS NOT NULL' })
export class PilotBatchEntity {
  /** Ours, and another one after each ingest: what was prepared for an earlier telling finds nothing. */
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_batch_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** The practice's own. */
  @Column('text')
  batchId!: string;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => JobEntity, { name: 'pilot_batch_job_fk', onDelete: 'SET NULL' })
  jobId!: string | null;
  /** The job that it named, also after that was deleted: what it cost still belongs to one job. */
  @Column('uuid', { nullable: true })
  namedJobId!: string | null;
  /** The named job's workflow, also after the job was deleted. */
  @Column('uuid', { nullable: true })
  workflowId!: string | null;
  @Column('text', { nullable: true })
  workerKey!: string | null;
  /** The agent whose own key reported it; null if an organization key or a session did. It may be deleted by now. */
  @Column('uuid', { nullable: true })
  reporterAgentId!: string | null;
  @Column('timestamptz', { nullable: true })
  startedAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  ingestedAt!: Date;
  /** Whose day is the batch's: startedAt, else finishedAt, else the ingest. */
  @Column('timestamptz')
  occurredAt!: Date;
  // Counted from the claim results at the ingest; they stay when those go with their job, or with their time.
  @Column('integer', { default: 0 })
  claimsAttempted!: number;
  @Column('integer', { default: 0 })
  claimsEobUploaded!: number;
  @Column('integer', { default: 0 })
  claimsNoEobFound!: number;
  @Column('integer', { default: 0 })
  claimsFailed!: number;
  @Column('integer', { default: 0 })
  stopEvents!: number;
  /** The sum over the claim results that have a time; null where none has. */
  @Column('bigint', { nullable: true })
  processingMicros!: number | null;
  /** In micro-dollars what the named job had cost when it was deleted; before that the job's own figure counts. */
  @Column('bigint', { nullable: true })
  deletedJobCostMicros!: number | null;
  /** What the practice says in sum. It is kept and shown to nobody as ours: figures are counted from the claims. */
  @Column('jsonb', { nullable: true })
  totals!: Record<string, unknown> | null;
  @Column('jsonb', { default: {} })
  metadata!: Record<string, unknown>;
}

/** One claim of a batch. A claim id may come twice, so a row is known by its place in the batch. */
@Entity('pilot_claim_result')
@Check('pilot_claim_result_outcome_check', "outcome IN ('eob_uploaded', 'no_eob_found', 'failed')")
@Check('pilot_claim_result_processing_check', 'processing_micros >= 0')
@Index('pilot_claim_result_batch_key', ['pilotBatchId', 'claimIndex'], { unique: true })
export class PilotClaimResultEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_claim_result_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** `{batchId}:claim:{index}` */
  @PrimaryColumn('text')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => PilotBatchEntity, { name: 'pilot_claim_result_batch_fk', onDelete: 'CASCADE' })
  pilotBatchId!: string;
  /** From 0. */
  @Column('integer')
  claimIndex!: number;
  @Column('text')
  claimId!: string;
  @Column('text', { nullable: true })
  npi!: string | null;
  @Column('text')
  outcome!: string;
  /** processingSeconds as a whole number of microseconds, so that sums are exact. */
  @Column('bigint', { nullable: true })
  processingMicros!: number | null;
  @Column('text', { nullable: true })
  message!: string | null;
  @Column('jsonb', { nullable: true })
  metadata!: Record<string, unknown> | null;
}

/** Why a batch stopped, or paused, as the practice says. */
@Entity('pilot_stop_event')
export class PilotStopEventEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => PilotBatchEntity, { name: 'pilot_stop_event_batch_fk', onDelete: 'CASCADE' })
  pilotBatchId!: string;
  /** From 0. */
  @PrimaryColumn('integer')
  eventIndex!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_stop_event_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  reason!: string;
  @Column('timestamptz')
  at!: Date;
  @Column('text', { nullable: true })
  detail!: string | null;
  @Column('jsonb', { nullable: true })
  metadata!: Record<string, unknown> | null;
}

/** A batch as the process library tells it: made by rule from the batch, and made anew with it. */
@Entity('process_library_session_summary')
@Index('session_summary_occurred_idx', ['organizationId', 'occurredAt', 'pilotBatchId'])
@Index('session_summary_worker_idx', ['organizationId', 'workerKey', 'occurredAt', 'pilotBatchId'], {
  where: 'worker_key IS NOT NULL',
})
export class SessionSummaryEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => PilotBatchEntity, { name: 'session_summary_batch_fk', onDelete: 'CASCADE' })
  pilotBatchId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'session_summary_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  // What sessions are listed by, as the batch has it.
  @Column('timestamptz')
  occurredAt!: Date;
  @Column('text', { nullable: true })
  workerKey!: string | null;
  @Column('bigint', { nullable: true })
  durationMs!: number | null;
  @Column('text', { nullable: true })
  stopReason!: string | null;
  @Column('text')
  headline!: string;
  @Column('timestamptz', { default: () => 'muster_now()' })
  generatedAt!: Date;
}

/** What happened in a session, in order of time. */
@Entity('process_library_session_timeline')
@Check('session_timeline_kind_check', "kind IN ('started', 'claim', 'stop', 'finished')")
export class SessionTimelineEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => PilotBatchEntity, { name: 'session_timeline_batch_fk', onDelete: 'CASCADE' })
  pilotBatchId!: string;
  @PrimaryColumn('integer')
  position!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'session_timeline_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('timestamptz')
  at!: Date;
  @Column('text')
  kind!: string;
  @Column('text', { nullable: true })
  claimId!: string | null;
  @Column('text', { nullable: true })
  outcome!: string | null;
  @Column('text', { nullable: true })
  reason!: string | null;
  @Column('text')
  text!: string;
}
