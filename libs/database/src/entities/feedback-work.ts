import type { FeedbackSeverity, FeedbackStatus, TrackerName } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { FeedbackSubmissionEntity } from './feedback';
import { OrganizationEntity } from './organization';

const statuses = "('received', 'triaged', 'in_progress', 'resolved', 'closed', 'rejected')";
const trackers = "('codehost', 'tasktracker')";

/** The work item of a submission: its next sync, and what is known of it besides the submitted texts. */
@Entity('feedback_work_item')
@Check('feedback_work_item_severity_check', "severity IN ('low', 'medium', 'high', 'critical')")
@Index('feedback_work_item_due_idx', ['dueAt', 'submissionId'], { where: 'due_at IS NOT NULL' })
@Index('feedback_work_item_compare_idx', ['submissionId'], { where: 'to_compare' })
export class FeedbackWorkItemEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => FeedbackSubmissionEntity, { name: 'feedback_work_item_submission_fk', onDelete: 'CASCADE' })
  submissionId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'feedback_work_item_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text', { nullable: true }) severity!: FeedbackSeverity | null;
  @Column('text', { nullable: true }) component!: string | null;
  @Column('text', { nullable: true }) summary!: string | null;
  /** Ids of submissions that may be about the same subject. */
  @Column('uuid', { array: true, default: '{}' }) duplicates!: string[];
  /** `model` or `rule`; null until the work item was enriched. */
  @Column('text', { nullable: true }) enrichedBy!: 'model' | 'rule' | null;
  /**
   * Time right before the model was called; null if the model was not called. The model is called only once, whatever
   * the outcome.
   */
  @Column('timestamptz', { nullable: true }) modelAskedAt!: Date | null;
  /** Incremented with every sync request, so that a request that arrives during a sync is not lost. */
  @Column('integer', { default: 1 }) armed!: number;
  /** Time of the next sync; null if there is nothing to do. */
  @Column('timestamptz', { nullable: true, default: () => 'muster_now()' }) dueAt!: Date | null;
  /** Token of the process that is syncing the work item, leased until `leasedUntil`; null if none is. */
  @Column('uuid', { nullable: true }) lease!: string | null;
  @Column('timestamptz', { nullable: true }) leasedUntil!: Date | null;
  /** Whether a reconciliation waits for a sync of this work item that leaves nothing to do. */
  @Column('boolean', { default: false }) toCompare!: boolean;
}

/** The issue or the task of a work item; at most one per tracker. */
@Entity('feedback_link')
@Check('feedback_link_tracker_check', `tracker IN ${trackers}`)
@Check('feedback_link_seen_check', `seen_status IN ${statuses}`)
@Check('feedback_link_writing_check', `writing_status IN ${statuses}`)
@Check('feedback_link_carried_check', `carried_status IN ${statuses}`)
@Index('feedback_link_tracker_key', ['submissionId', 'tracker'], { unique: true })
// The index covers only linked rows, because an unlinked issue or task can be linked to another work item.
@Index('feedback_link_external_key', ['tracker', 'scope', 'externalId'], {
  unique: true,
  where: 'external_id IS NOT NULL AND unlinked_at IS NULL',
})
// A tracker webhook names a task without its list, and an issue's repository in any case.
@Index('feedback_link_external_idx', ['externalId'], { where: 'external_id IS NOT NULL' })
@Index('feedback_link_branch_idx', ['branch'], { where: 'branch IS NOT NULL' })
@Index('feedback_link_dead_idx', ['id'], { where: 'dead_at IS NOT NULL' })
export class FeedbackLinkEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => FeedbackWorkItemEntity, { name: 'feedback_link_work_item_fk', onDelete: 'CASCADE' })
  submissionId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'feedback_link_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') tracker!: TrackerName;
  /** Repository or list that contains the issue or task; null until it exists. */
  @Column('text', { nullable: true }) scope!: string | null;
  @Column('text', { nullable: true }) externalId!: string | null;
  @Column('text', { nullable: true }) externalUrl!: string | null;
  @Column('text', { nullable: true }) branch!: string | null;
  /**
   * Time of the first attempt to create the issue or task; null before. The issue or task cannot be older than this
   * time.
   */
  @Column('timestamptz', { nullable: true }) firstClaimedAt!: Date | null;
  /**
   * Time of the last attempt to create the issue or task, written before the call; null if no attempt is open. If the
   * response was lost, the next attempt searches for the result first.
   */
  @Column('timestamptz', { nullable: true }) claimedAt!: Date | null;
  /** Number of attempts to create the issue or task. Only the process that made the last attempt may create it. */
  @Column('integer', { default: 0 }) claim!: number;
  /**
   * Status in the tracker when it was last read or written. If the tracker now has another status, somebody has changed
   * it there.
   */
  @Column('text', { nullable: true }) seenStatus!: FeedbackStatus | null;
  /**
   * Status that the service is writing to the tracker. When the tracker reports it, it is not a change that was made
   * there. Null if no write is pending.
   */
  @Column('text', { nullable: true }) writingStatus!: FeedbackStatus | null;
  /** Whether the text of the issue or task links to the item in the other tracker. */
  @Column('boolean', { default: false }) joined!: boolean;
  @Column('timestamptz', { nullable: true }) unlinkedAt!: Date | null;
  @Column('integer', { default: 0 }) attempts!: number;
  @Column('timestamptz', { nullable: true }) nextTryAt!: Date | null;
  @Column('text', { nullable: true }) error!: string | null;
  @Column('timestamptz', { nullable: true }) failingSince!: Date | null;
  @Column('timestamptz', { nullable: true }) deadAt!: Date | null;
  /**
   * Time since which the tracker is stopped, if the submission's history already contains this stop; otherwise null.
   */
  @Column('timestamptz', { nullable: true }) stopToldAt!: Date | null;
  /** Status of the submission that was last written to the tracker; null if none was. */
  @Column('text', { nullable: true }) carriedStatus!: FeedbackStatus | null;
}

/** The state of a tracker for all work items: whether it is stopped and why, or paused at its own request. */
@Entity('feedback_tracker')
@Check('feedback_tracker_tracker_check', `tracker IN ${trackers}`)
export class FeedbackTrackerEntity {
  @PrimaryColumn('text') tracker!: TrackerName;
  @Column('timestamptz', { nullable: true }) stoppedAt!: Date | null;
  @Column('text', { nullable: true }) reason!: string | null;
  /** Time at which one call tests whether the stopped tracker works again; null if the tracker is not stopped. */
  @Column('timestamptz', { nullable: true }) nextTryAt!: Date | null;
  @Column('timestamptz', { nullable: true }) pausedUntil!: Date | null;
}

/** A comparison of all linked work items with their trackers, one per nominal time of its cron expression. */
@Entity('feedback_reconciliation')
export class FeedbackReconciliationEntity {
  @PrimaryColumn('timestamptz') nominalAt!: Date;
  @Column('timestamptz') beganAt!: Date;
  /** Last work item whose sync was requested; the process that resumes starts after it. Null before the first. */
  @Column('uuid', { nullable: true }) afterId!: string | null;
  /** Time when all syncs were requested; null until then. */
  @Column('timestamptz', { nullable: true }) rungAt!: Date | null;
  /** Time when all these syncs were done; null until then. */
  @Column('timestamptz', { nullable: true }) finishedAt!: Date | null;
  @Column('integer', { default: 0 }) armed!: number;
}

/** A tracker webhook delivery that was accepted. */
@Entity('feedback_delivery')
@Check('feedback_delivery_tracker_check', `tracker IN ${trackers}`)
@Index('feedback_delivery_received_idx', ['receivedAt'])
export class FeedbackDeliveryEntity {
  @PrimaryColumn('text') tracker!: TrackerName;
  @PrimaryColumn('text') deliveryId!: string;
  @Column('timestamptz') receivedAt!: Date;
}
