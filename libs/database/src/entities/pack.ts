import type { PackStage } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** A process that an organization automates, identified by the key that its workers use. */
@Entity('library_process')
export class LibraryProcessEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'library_process_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text')
  workerKey!: string;
  @Column('text')
  name!: string;
  @Column('text', { default: '' })
  description!: string;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  updatedAt!: Date;
}

@Entity('workflow_pack')
@Index('workflow_pack_worker_key', ['organizationId', 'workerKey'], { unique: true })
@Index('workflow_pack_organization_idx', ['organizationId', 'id'])
@Index('workflow_pack_draft_idx', ['draftRuntimeBundleId'])
export class WorkflowPackEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'workflow_pack_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  workerKey!: string;
  @Column('text')
  name!: string;
  @Column('text', { default: '' })
  description!: string;
  @Column('text', { array: true, default: [] })
  stageTags!: string[];
  /** The draft head, which is the newest draft; null before the first draft. It changes only by compare-and-set. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => RuntimeBundleEntity, { name: 'workflow_pack_draft_fk' })
  draftRuntimeBundleId!: string | null;
  /** Incremented with every change of the pack, its draft or its versions. The ETag is computed from it. */
  @Column('integer', { default: 1 })
  version!: number;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  updatedAt!: Date;
}

/**
 * The bytes of a zip file, stored once per organization. The row is written before its object and deleted after it, so
 * every object in the store has a row.
 */
@Entity('pack_bundle')
@Index('pack_bundle_touched_idx', ['touchedAt'])
export class PackBundleEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pack_bundle_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** SHA-256 of the zip file, in hex. */
  @PrimaryColumn('text')
  digest!: string;
  @Column('bigint')
  size!: number;
  /** Time when the bundle was last stored or referenced. */
  @Column('timestamptz', { default: () => 'muster_now()' })
  touchedAt!: Date;
  /**
   * Time since which the bundle's object is being deleted; null if it is not being deleted. Until the row is deleted,
   * the bundle cannot be referenced.
   */
  @Column('timestamptz', { nullable: true })
  removingAt!: Date | null;
}

/** An upload of a bundle to a pack: the draft head or a former draft. */
@Entity('runtime_bundle')
@ForeignKey(() => PackBundleEntity, ['organizationId', 'digest'], ['organizationId', 'digest'], {
  name: 'runtime_bundle_bytes_fk',
})
@Index('runtime_bundle_pack_idx', ['packId', 'id'])
@Index('runtime_bundle_bytes_idx', ['organizationId', 'digest'])
@Index('runtime_bundle_unused_idx', ['createdAt'], { where: 'stored_at IS NULL' })
@Index('runtime_bundle_replaced_idx', ['replacedAt'], { where: 'replaced_at IS NOT NULL' })
export class RuntimeBundleEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'runtime_bundle_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => WorkflowPackEntity, { name: 'runtime_bundle_pack_fk', onDelete: 'CASCADE' })
  packId!: string;
  @Column('text')
  digest!: string;
  @Column('uuid', { nullable: true })
  baseRuntimeBundleId!: string | null;
  @Column('integer')
  fileCount!: number;
  @Column('bigint')
  unpackedSize!: number;
  @Column('text')
  createdBy!: string;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
  /** Time when the upload became the draft head; null while its objects are being stored, or if storing them failed. */
  @Column('timestamptz', { nullable: true })
  storedAt!: Date | null;
  /** Time when another draft replaced this one as the head; null if none did. */
  @Column('timestamptz', { nullable: true })
  replacedAt!: Date | null;
}

/** An allowed upload that goes directly to the object store. It can be used once. */
@Entity('pack_upload')
@Index('pack_upload_key', ['uploadKey'], { unique: true })
@Index('pack_upload_pack_idx', ['packId'])
@Index('pack_upload_created_idx', ['createdAt'])
export class PackUploadEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pack_upload_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => WorkflowPackEntity, { name: 'pack_upload_pack_fk', onDelete: 'CASCADE' })
  packId!: string;
  /** Key of the uploaded object in the store. */
  @Column('text')
  uploadKey!: string;
  @Column('text', { nullable: true })
  fileName!: string | null;
  @Column('text')
  contentType!: string;
  @Column('timestamptz')
  expiresAt!: Date;
  /** Draft that the upload became; null until then. */
  @Column('uuid', { nullable: true })
  runtimeBundleId!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
}

@Entity('pack_version')
@Check(
  'pack_version_stage_check',
  "stage IN ('draft', 'internal_verified', 'pilot', 'production', 'deprecated', 'archived')",
)
@Index('pack_version_number', ['packId', 'number'], { unique: true })
@Index('pack_version_bundle', ['runtimeBundleId'], { unique: true })
export class PackVersionEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pack_version_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => WorkflowPackEntity, { name: 'pack_version_pack_fk', onDelete: 'CASCADE' })
  packId!: string;
  @Column('integer')
  number!: number;
  @Column('text', { nullable: true })
  label!: string | null;
  @Column('text', { nullable: true })
  notes!: string | null;
  @Column('text', { default: 'draft' })
  stage!: PackStage;
  @Column('uuid')
  @ForeignKey(() => RuntimeBundleEntity, { name: 'pack_version_bundle_fk' })
  runtimeBundleId!: string;
  @Column('text')
  createdBy!: string;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
}

/** A change of a pack version's stage, such as from pilot to production. */
@Entity('pack_version_move')
@Index('pack_version_move_version_idx', ['versionId', 'id'])
export class PackVersionMoveEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pack_version_move_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => PackVersionEntity, { name: 'pack_version_move_version_fk', onDelete: 'CASCADE' })
  versionId!: string;
  @Column('text')
  fromStage!: PackStage;
  @Column('text')
  toStage!: PackStage;
  @Column('text')
  movedBy!: string;
  @Column('text', { nullable: true })
  reason!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  movedAt!: Date;
}
