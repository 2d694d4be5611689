import type { AlertOptions, AlertRuleName, AlertSubjectType } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';
import { WorkflowEntity } from './workflow';

/** The settings of an alert rule that an admin has changed. A rule without a row is off. */
@Entity('alert_rule')
@Index('alert_rule_enabled_idx', ['rule', 'organizationId'], { where: 'enabled' })
export class AlertRuleEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'alert_rule_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') rule!: AlertRuleName;
  @Column('boolean') enabled!: boolean;
  /** Channels of the organization. A channel that was deleted is ignored. */
  @Column('uuid', { array: true, default: [] }) channelIds!: string[];
  @Column('jsonb', { default: {} }) options!: AlertOptions;
  /** Types of the webhook events that the rule evaluates. Such an event is stored even if no endpoint wants it. */
  @Column('text', { array: true, default: [] }) eventTypes!: string[];
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
}

/** An alert about a subject. While it is open, there is no other one for the same rule and subject. */
@Entity('alert')
@Check('alert_count_check', 'count > 0')
@Index('alert_open_key', ['organizationId', 'rule', 'subjectId'], { unique: true, where: 'resolved_at IS NULL' })
@Index('alert_organization_idx', ['organizationId', 'id'])
@Index('alert_organization_open_idx', ['organizationId', 'id'], { where: 'resolved_at IS NULL' })
@Index('alert_rule_open_idx', ['rule', 'id'], { where: 'resolved_at IS NULL' })
@Index('alert_resolved_idx', ['resolvedAt'], { where: 'resolved_at IS NOT NULL' })
export class AlertEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'alert_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') rule!: AlertRuleName;
  @Column('text') subjectType!: AlertSubjectType;
  /** Id of the subject, or its name if it has no id. */
  @Column('text') subjectId!: string;
  @Column('text') subjectName!: string;
  @Column('timestamptz', { default: () => 'muster_now()' }) openedAt!: Date;
  /** Time of the last event that the alert counts. */
  @Column('timestamptz', { default: () => 'muster_now()' }) lastAt!: Date;
  @Column('timestamptz', { nullable: true }) resolvedAt!: Date | null;
  @Column('text', { nullable: true }) acknowledgedBy!: string | null;
  @Column('timestamptz', { nullable: true }) acknowledgedAt!: Date | null;
  @Column('integer', { default: 1 }) count!: number;
  /** Workflow and agent of the subject, by which the filters of channels select the alert. */
  @Column('uuid', { nullable: true }) workflowId!: string | null;
  @Column('uuid', { nullable: true }) agentId!: string | null;
}

/** The failed runs of a workflow since its last completed run, counted while the rule run_failed is on. */
@Entity('alert_streak')
@Index('alert_streak_organization_idx', ['organizationId'])
export class AlertStreakEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => WorkflowEntity, { name: 'alert_streak_workflow_fk', onDelete: 'CASCADE' })
  workflowId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'alert_streak_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('integer', { default: 0 }) failures!: number;
  @Column('timestamptz', { nullable: true }) failedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) completedAt!: Date | null;
}
