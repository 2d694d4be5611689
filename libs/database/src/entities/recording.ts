import type { RecordingKind, RecordingStatus } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { ArtifactEntity } from './job';
import { OrganizationEntity } from './organization';

/** A recording of an agent's screen or of a browser on it, from the start command to the stored files. */
@Entity('recording')
@Check('recording_status_check', "status IN ('starting', 'recording', 'stopping', 'kept', 'failed')")
@Index('recording_agent_idx', ['agentId', 'id'])
@Index('recording_open_idx', ['agentId'], { where: "status IN ('starting', 'recording', 'stopping')" })
@Check('recording_kind_check', "kind IN ('screen', 'browser')")
@Index('recording_events_artifact_idx', ['eventsArtifactId'], { where: 'events_artifact_id IS NOT NULL' })
@Index('recording_artifact_idx', ['artifactId'], { where: 'artifact_id IS NOT NULL' })
export class RecordingEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'recording_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => AgentEntity, { name: 'recording_agent_fk', onDelete: 'CASCADE' })
  agentId!: string;
  @Column('text', { nullable: true })
  name!: string | null;
  @Column('text', { default: 'starting' })
  status!: RecordingStatus;
  @Column('timestamptz', { nullable: true })
  startedAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  endedAt!: Date | null;
  @Column('text', { nullable: true })
  error!: string | null;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => ArtifactEntity, { name: 'recording_artifact_fk', onDelete: 'SET NULL' })
  artifactId!: string | null;
  /** Recorded source: the screen or a browser. Null until the worker has chosen, by the software of its machine. */
  @Column('text', { nullable: true })
  kind!: RecordingKind | null;
  @Column('text', { nullable: true })
  startUrl!: string | null;
  /** File with the recorded steps; null if there is none. `artifactId` is the video. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => ArtifactEntity, { name: 'recording_events_artifact_fk', onDelete: 'SET NULL' })
  eventsArtifactId!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
}
