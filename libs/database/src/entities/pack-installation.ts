import type { InstallationMove } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';
import { PackVersionEntity, WorkflowPackEntity } from './pack';

/** An installation of a pack, such as that of one customer. Its runs use the version that it is pinned to. */
@Entity('pack_installation')
@Index('pack_installation_name', ['packId', 'name'], { unique: true })
@Index('pack_installation_organization_idx', ['organizationId', 'id'])
@Index('pack_installation_pinned_idx', ['pinnedVersionId'])
@Index('pack_installation_previous_idx', ['previousVersionId'])
export class PackInstallationEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pack_installation_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => WorkflowPackEntity, { name: 'pack_installation_pack_fk', onDelete: 'CASCADE' })
  packId!: string;
  @Column('text')
  name!: string;
  @Column('jsonb', { default: {} })
  metadata!: Record<string, unknown>;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => PackVersionEntity, { name: 'pack_installation_pinned_fk' })
  pinnedVersionId!: string | null;
  /** Version that a rollback restores; null if there is none. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => PackVersionEntity, { name: 'pack_installation_previous_fk' })
  previousVersionId!: string | null;
  /** Revision number, incremented with every change of the installation. The ETag is computed from it. */
  @Column('integer', { default: 1 })
  version!: number;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  updatedAt!: Date;
}

/** A change of the version that an installation is pinned to. */
@Entity('pack_installation_move')
@Check('pack_installation_move_action_check', "action IN ('pin', 'rollback')")
@Index('pack_installation_move_installation_idx', ['installationId', 'id'])
export class PackInstallationMoveEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'pack_installation_move_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => PackInstallationEntity, { name: 'pack_installation_move_installation_fk', onDelete: 'CASCADE' })
  installationId!: string;
  @Column('text')
  action!: InstallationMove;
  @Column('uuid', { nullable: true })
  fromVersionId!: string | null;
  @Column('uuid')
  toVersionId!: string;
  @Column('text')
  movedBy!: string;
  @Column('text', { nullable: true })
  reason!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  movedAt!: Date;
}
