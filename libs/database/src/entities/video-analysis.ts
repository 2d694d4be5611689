import type { MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { OrganizationEntity } from './organization';

/** A recording on its way to a workflow. Each of its steps is one handling of a message, and begins where it stands. */
@Entity('video_analysis')
@Check('video_analysis_status_check', "status IN ('queued', 'running', 'completed', 'failed')")
@Check('video_analysis_step_check', "step IN ('read', 'frames', 'ask', 'make')")
@Index('video_analysis_age_idx', ['organizationId', 'createdAt'])
@Index('video_analysis_due_idx', ['dueAt'], { where: 'due_at IS NOT NULL' })
export class VideoAnalysisEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'video_analysis_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => AgentEntity, { name: 'video_analysis_agent_fk', onDelete: 'CASCADE' })
  agentId!: string;
  @Column('uuid', { nullable: true }) recordingId!: string | null;
  @Column('text', { nullable: true }) uploadKey!: string | null;
  @Column('text', { nullable: true }) name!: string | null;
  @Column('text', { nullable: true }) hint!: string | null;
  /** Who asked for it, as whom the workflow is made. */
  @Column('jsonb') actor!: Record<string, unknown>;
  @Column('text', { default: 'queued' }) status!: 'queued' | 'running' | 'completed' | 'failed';
  @Column('text', { default: 'read' }) step!: 'read' | 'frames' | 'ask' | 'make';
  @Column('integer', { default: 0 }) progress!: number;
  /** The machine's command that takes the frames. */
  @Column('uuid', { nullable: true }) commandId!: string | null;
  @Column('integer', { default: 0 }) frames!: number;
  /** When each frame is in the film, in milliseconds. */
  @Column('jsonb', { default: [] }) frameTimes!: number[];
  /** So many frames were shown to the model, and this is what it saw in them. */
  @Column('integer', { default: 0 }) asked!: number;
  @Column('jsonb', { default: [] }) seen!: object[];
  @Column('bigint', { default: 0 }) inputTokens!: number;
  @Column('bigint', { default: 0 }) outputTokens!: number;
  @Column('bigint', { default: 0 }) costMicros!: MicroUsd;
  @Column('uuid', { nullable: true }) workflowId!: string | null;
  @Column('text', { nullable: true }) error!: string | null;
  @Column('text', { nullable: true }) code!: string | null;
  /** Counts the handlings: what an earlier one writes late changes nothing. */
  @Column('integer', { default: 0 }) turn!: number;
  /** Handlings in a row that broke. */
  @Column('integer', { default: 0 }) faults!: number;
  /** Null once it is over. */
  @Column('timestamptz', { nullable: true, default: () => 'muster_now()' }) dueAt!: Date | null;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
}

/** A film that somebody may send. */
@Entity('film_upload')
@Index('film_upload_age_idx', ['organizationId', 'createdAt'])
export class FilmUploadEntity {
  @PrimaryColumn('text') uploadKey!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'film_upload_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') contentType!: string;
  @Column('bigint') size!: number;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
}

/** What a call of the model said of the frames behind the first `asked`, kept with its bill. */
@Entity('video_answer')
export class VideoAnswerEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => VideoAnalysisEntity, { name: 'video_answer_analysis_fk', onDelete: 'CASCADE' })
  analysisId!: string;
  @PrimaryColumn('integer') asked!: number;
  @PrimaryColumn('uuid') modelCallId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'video_answer_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') answer!: string;
  @Column('bigint') inputTokens!: number;
  @Column('bigint') outputTokens!: number;
  @Column('bigint') costMicros!: MicroUsd;
}
