import type { MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { OrganizationEntity } from './organization';

/** The conversion of a recording into a workflow. Each step handles one message and resumes from the stored state. */
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
  /** User or API key that requested the analysis. The workflow is created in their name. */
  @Column('jsonb') actor!: Record<string, unknown>;
  @Column('text', { default: 'queued' }) status!: 'queued' | 'running' | 'completed' | 'failed';
  @Column('text', { default: 'read' }) step!: 'read' | 'frames' | 'ask' | 'make';
  @Column('integer', { default: 0 }) progress!: number;
  /** Command that extracts the frames on the machine; null until it is issued. */
  @Column('uuid', { nullable: true }) commandId!: string | null;
  @Column('integer', { default: 0 }) frames!: number;
  /** Time of each frame in the video, in milliseconds. */
  @Column('jsonb', { default: [] }) frameTimes!: number[];
  /** Number of frames that were shown to the model; `seen` is what the model reported about them. */
  // eslint-disable-next-line id-denylist -- the name of the column
  @Column('integer', { default: 0 }) asked!: number;
  @Column('jsonb', { default: [] }) seen!: object[];
  @Column('bigint', { default: 0 }) inputTokens!: number;
  @Column('bigint', { default: 0 }) outputTokens!: number;
  @Column('bigint', { default: 0 }) costMicros!: MicroUsd;
  @Column('uuid', { nullable: true }) workflowId!: string | null;
  @Column('text', { nullable: true }) error!: string | null;
  @Column('text', { nullable: true }) code!: string | null;
  /**
   * Incremented each time that a process handles a message of the analysis. Late writes of a process that handled an
   * earlier message have no effect.
   */
  @Column('integer', { default: 0 }) turn!: number;
  /** Number of consecutive failed attempts to handle a message. */
  @Column('integer', { default: 0 }) faults!: number;
  /** Time of the next step; null once the analysis has finished. */
  @Column('timestamptz', { nullable: true, default: () => 'muster_now()' }) dueAt!: Date | null;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
}

/** An upload of a video that the service has allowed: the row is inserted before the client gets the upload URL. */
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

/** A response of the model about the frames after the first `asked`, stored together with its cost. */
@Entity('video_answer')
export class VideoAnswerEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => VideoAnalysisEntity, { name: 'video_answer_analysis_fk', onDelete: 'CASCADE' })
  analysisId!: string;
  // eslint-disable-next-line id-denylist -- the name of the column
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
