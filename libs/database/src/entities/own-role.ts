import type { Permission } from '@muster/contracts';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** A role that an organization made of permissions. Users and invitations refer to it by its name. */
@Entity('own_role')
// An index over lower(name), which the decorator cannot describe.
@Index('own_role_name_key', { synchronize: false })
export class OwnRoleEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'own_role_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') name!: string;
  @Column('text', { array: true }) permissions!: Permission[];
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
}
