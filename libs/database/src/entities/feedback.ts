import type { FeedbackSeverity, FeedbackSource, FeedbackStatus, FeedbackType } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

const statuses = "('received', 'triaged', 'in_progress', 'resolved', 'closed', 'rejected')";

/** A feedback report. Its agent, workflow and run have no foreign keys, because they may be deleted. */
@Entity('feedback_submission')
@Check('feedback_submission_type_check', "type IN ('feature_request', 'bug_report', 'workflow_issue_report')")
@Check('feedback_submission_status_check', `status IN ${statuses}`)
@Check('feedback_submission_severity_check', "severity IN ('low', 'medium', 'high', 'critical')")
@Index('feedback_submission_organization_idx', ['organizationId', 'id'])
@Index('feedback_submission_reporter_idx', ['organizationId', 'reporterId', 'id'])
@Index('feedback_submission_status_idx', ['organizationId', 'status', 'id'])
@Index('feedback_submission_type_idx', ['organizationId', 'type', 'id'])
export class FeedbackSubmissionEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'feedback_submission_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') type!: FeedbackType;
  @Column('text', { default: 'received' }) status!: FeedbackStatus;
  /** Time of the last status change, by the clock of the system that made it. Of two changes the later one wins. */
  @Column('timestamptz', { default: () => 'muster_now()' }) statusAt!: Date;
  @Column('text') title!: string;
  @Column('text') description!: string;
  @Column('text', { nullable: true }) severity!: FeedbackSeverity | null;
  @Column('text', { nullable: true }) steps!: string | null;
  @Column('text', { nullable: true }) url!: string | null;
  @Column('uuid', { nullable: true }) agentId!: string | null;
  @Column('uuid', { nullable: true }) workflowId!: string | null;
  @Column('uuid', { nullable: true }) jobId!: string | null;
  /** Id of the user or of the API key that reported it. An API key has no email address. */
  @Column('text') reporterId!: string;
  @Column('text', { nullable: true }) reporterEmail!: string | null;
  @Column('text', { nullable: true }) screenshotKey!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
}

/** A status change of a submission, or another event that `reason` describes; then both statuses are equal. */
@Entity('feedback_status_change')
@Check('feedback_status_change_from_check', `from_status IN ${statuses}`)
@Check('feedback_status_change_to_check', `to_status IN ${statuses}`)
@Check('feedback_status_change_source_check', "source IN ('user', 'codehost', 'tasktracker')")
@Index('feedback_status_change_submission_idx', ['submissionId', 'id'])
export class FeedbackStatusChangeEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => FeedbackSubmissionEntity, {
    name: 'feedback_status_change_submission_fk',
    onDelete: 'CASCADE',
  })
  submissionId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'feedback_status_change_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('timestamptz') at!: Date;
  @Column('text') fromStatus!: FeedbackStatus;
  @Column('text') toStatus!: FeedbackStatus;
  @Column('text') source!: FeedbackSource;
  @Column('text', { nullable: true }) reason!: string | null;
}
