import type { FeedbackSeverity, FeedbackStatus, TrackerName } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { FeedbackSubmissionEntity } from './feedback';
import { OrganizationEntity } from './organization';

const statuses = "('received', 'triaged', 'in_progress', 'resolved', 'closed', 'rejected')";
const trackers = "('codehost', 'tasktracker')";

/** What a submission makes of work: when it is to be looked at next, and what is known of it beside its words. */
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
  /** Submissions that may be about the same. */
  @Column('uuid', { array: true, default: '{}' }) duplicates!: string[];
  /** `model` or `rule`; null until it was looked at. */
  @Column('text', { nullable: true }) enrichedBy!: 'model' | 'rule' | null;
  /** When a model was about to be asked: it is not asked again, whatever became of that. */
  @Column('timestamptz', { nullable: true }) modelAskedAt!: Date | null;
  /** Counts up with every reason to look again, so that one that comes during a look is not lost. */
  @Column('integer', { default: 1 }) armed!: number;
  /** Null where there is nothing to do. */
  @Column('timestamptz', { nullable: true, default: () => 'muster_now()' }) dueAt!: Date | null;
  /** Whose turn it is, and until when at most. */
  @Column('uuid', { nullable: true }) lease!: string | null;
  @Column('timestamptz', { nullable: true }) leasedUntil!: Date | null;
  /** A comparison waits for a look at it that leaves nothing to do. */
  @Column('boolean', { default: false }) toCompare!: boolean;
}

/** A work item's one issue, or its one task. */
@Entity('feedback_link')
@Check('feedback_link_tracker_check', `tracker IN ${trackers}`)
@Check('feedback_link_seen_check', `seen_status IN ${statuses}`)
@Check('feedback_link_writing_check', `writing_status IN ${statuses}`)
@Check('feedback_link_carried_check', `carried_status IN ${statuses}`)
@Index('feedback_link_tracker_key', ['submissionId', 'tracker'], { unique: true })
// One that is unlinked holds its id against nobody.
@Index('feedback_link_external_key', ['tracker', 'scope', 'externalId'], {
  unique: true,
  where: 'external_id IS NOT NULL AND unlinked_at IS NULL',
})
// A delivery names a task, and no list that it is in; of an issue's repository the case may differ.
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
  /** The repository or the list that it is in. */
  @Column('text', { nullable: true }) scope!: string | null;
  @Column('text', { nullable: true }) externalId!: string | null;
  @Column('text', { nullable: true }) externalUrl!: string | null;
  @Column('text', { nullable: true }) branch!: string | null;
  /** Nothing of it can be in the tracker that is older. */
  @Column('timestamptz', { nullable: true }) firstClaimedAt!: Date | null;
  /** Written before it is created: a creation whose answer nobody had is looked for before the next. */
  @Column('timestamptz', { nullable: true }) claimedAt!: Date | null;
  /** Counts the claims: only who has the last one may create. */
  @Column('integer', { default: 0 }) claim!: number;
  /** What the tracker showed when it was last read or written; only what differs from it is a change of theirs. */
  @Column('text', { nullable: true }) seenStatus!: FeedbackStatus | null;
  /** What the tracker will show once a status that is on its way has arrived: no change of theirs either. */
  @Column('text', { nullable: true }) writingStatus!: FeedbackStatus | null;
  /** It names the one in the other tracker. */
  @Column('boolean', { default: false }) joined!: boolean;
  @Column('timestamptz', { nullable: true }) unlinkedAt!: Date | null;
  @Column('integer', { default: 0 }) attempts!: number;
  @Column('timestamptz', { nullable: true }) nextTryAt!: Date | null;
  @Column('text', { nullable: true }) error!: string | null;
  @Column('timestamptz', { nullable: true }) failingSince!: Date | null;
  @Column('timestamptz', { nullable: true }) deadAt!: Date | null;
  /** The stop of the tracker that stands in the submission's history. */
  @Column('timestamptz', { nullable: true }) stopToldAt!: Date | null;
  /** Our status that was carried to it last. */
  @Column('text', { nullable: true }) carriedStatus!: FeedbackStatus | null;
}

/** What all work items share of a tracker: that it is stopped and why, or that it has asked for a rest. */
@Entity('feedback_tracker')
@Check('feedback_tracker_tracker_check', `tracker IN ${trackers}`)
export class FeedbackTrackerEntity {
  @PrimaryColumn('text') tracker!: TrackerName;
  @Column('timestamptz', { nullable: true }) stoppedAt!: Date | null;
  @Column('text', { nullable: true }) reason!: string | null;
  /** When one call may try whether it goes again. */
  @Column('timestamptz', { nullable: true }) nextTryAt!: Date | null;
  @Column('timestamptz', { nullable: true }) pausedUntil!: Date | null;
}

/** A comparison of all linked work items with their trackers; one for each time that its cron expression names. */
@Entity('feedback_reconciliation')
export class FeedbackReconciliationEntity {
  @PrimaryColumn('timestamptz') nominalAt!: Date;
  @Column('timestamptz') beganAt!: Date;
  /** The last work item that was rung for; whoever goes on begins behind it. */
  @Column('uuid', { nullable: true }) afterId!: string | null;
  /** When all were rung for. */
  @Column('timestamptz', { nullable: true }) rungAt!: Date | null;
  /** When all of them had been looked at. */
  @Column('timestamptz', { nullable: true }) finishedAt!: Date | null;
  @Column('integer', { default: 0 }) armed!: number;
}

/** A webhook's delivery that was taken. */
@Entity('feedback_delivery')
@Check('feedback_delivery_tracker_check', `tracker IN ${trackers}`)
@Index('feedback_delivery_received_idx', ['receivedAt'])
export class FeedbackDeliveryEntity {
  @PrimaryColumn('text') tracker!: TrackerName;
  @PrimaryColumn('text') deliveryId!: string;
  @Column('timestamptz') receivedAt!: Date;
}
