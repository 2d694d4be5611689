import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { JobEntity } from './job';
import { OrganizationEntity } from './organization';

/**
 * A run summary as it was last reported, identified by its organization and the batch id that the organization chose.
 */
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
  /**
   * Id that the service assigns, new whenever a report is stored, so that work started for an earlier report no longer
   * finds the row.
   */
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_batch_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** The id that the organization gave the batch. */
  @Column('text')
  batchId!: string;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => JobEntity, { name: 'pilot_batch_job_fk', onDelete: 'SET NULL' })
  jobId!: string | null;
  /**
   * Id of the job that the batch named. It is kept when the job is deleted, so that the batch's cost stays assigned to
   * one job.
   */
  @Column('uuid', { nullable: true })
  namedJobId!: string | null;
  /** Workflow of the named job. It remains after the job is deleted. Null if the batch named no job. */
  @Column('uuid', { nullable: true })
  workflowId!: string | null;
  @Column('text', { nullable: true })
  workerKey!: string | null;
  /**
   * The agent whose own key reported the batch; null if an organization key or a session reported it. The agent may be
   * deleted by now.
   */
  @Column('uuid', { nullable: true })
  reporterAgentId!: string | null;
  @Column('timestamptz', { nullable: true })
  startedAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  ingestedAt!: Date;
  /** Time that determines the day of the batch: startedAt, else finishedAt, else the time of the ingest. */
  @Column('timestamptz')
  occurredAt!: Date;
  // The following five counts are computed from the claim results when the batch arrives. They are not changed when the
  // claim results are deleted with their job or by retention.
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
  /** Sum of the processing times of the claim results in microseconds; null if none has one. */
  @Column('bigint', { nullable: true })
  processingMicros!: number | null;
  /** Cost of the named job in micro-dollars when it was deleted; null before, while the job's own cost applies. */
  @Column('bigint', { nullable: true })
  deletedJobCostMicros!: number | null;
  /** Time for which the job waited for people, once the job is deleted. */
  @Column('bigint', { nullable: true })
  deletedJobWaitingMicros!: number | null;
  /**
   * Totals as the organization reported them; null if it reported none. They are stored and displayed, but the figures
   * of the service are computed from the claims.
   */
  @Column('jsonb', { nullable: true })
  totals!: Record<string, unknown> | null;
  @Column('jsonb', { default: {} })
  metadata!: Record<string, unknown>;
}

/** One claim of a batch. A claim id can occur twice in a batch, so a row is identified by its position in the batch. */
@Entity('pilot_claim_result')
@Check('pilot_claim_result_outcome_check', "outcome IN ('eob_uploaded', 'no_eob_found', 'failed')")
@Check('pilot_claim_result_processing_check', 'processing_micros >= 0')
@Index('pilot_claim_result_batch_key', ['pilotBatchId', 'claimIndex'], { unique: true })
export class PilotClaimResultEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pilot_claim_result_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** Id of the claim in the form `{batchId}:claim:{index}`. */
  @PrimaryColumn('text')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => PilotBatchEntity, { name: 'pilot_claim_result_batch_fk', onDelete: 'CASCADE' })
  pilotBatchId!: string;
  /** Position in the batch, from 0. */
  @Column('integer')
  claimIndex!: number;
  @Column('text')
  claimId!: string;
  @Column('text', { nullable: true })
  npi!: string | null;
  @Column('text')
  outcome!: string;
  /** processingSeconds as a whole number of microseconds, so that sums are exact; null if it was not reported. */
  @Column('bigint', { nullable: true })
  processingMicros!: number | null;
  @Column('text', { nullable: true })
  message!: string | null;
  @Column('jsonb', { nullable: true })
  metadata!: Record<string, unknown> | null;
}

/** A stop or a pause of a batch, with the reason that the organization reported. */
@Entity('pilot_stop_event')
export class PilotStopEventEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => PilotBatchEntity, { name: 'pilot_stop_event_batch_fk', onDelete: 'CASCADE' })
  pilotBatchId!: string;
  /** Position in the batch, from 0. */
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

/** A batch as a session of the process library. It is derived from the batch by rules, and rebuilt with it. */
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
  // The four columns from occurredAt to stopReason are copied from the batch, because sessions are listed by them.
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

/** An entry of a session's timeline. `position` is its order by time. */
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
