import type { Permission } from '@muster/contracts';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { UserEntity } from './access';
import { OrganizationEntity } from './organization';

/** The token with which the identity provider of an organization manages its users (SCIM). */
@Entity('scim_token')
export class ScimTokenEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'scim_token_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** SHA-256 of the provider's token. */
  @Column('text') secretHash!: string;
  /**
   * Permissions of the user who created the token. The provider can neither give more nor change a user who has more.
   * Null for an admin, whose token can manage all users except super_admins.
   */
  @Column('text', { array: true, nullable: true }) permissions!: Permission[] | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
}

/** Attributes of a user that the identity provider has sent. A user that it has never changed has no row. */
@Entity('scim_user')
@Index('scim_user_external_id_idx', ['organizationId', 'externalId'])
export class ScimUserEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => UserEntity, { name: 'scim_user_user_fk', onDelete: 'CASCADE' })
  userId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'scim_user_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text', { nullable: true }) externalId!: string | null;
  @Column('text', { nullable: true }) displayName!: string | null;
  @Column('text', { nullable: true }) givenName!: string | null;
  @Column('text', { nullable: true }) familyName!: string | null;
  /** When the provider deleted the user. While the user is disabled, the provider no longer sees the account. */
  @Column('timestamptz', { nullable: true }) deletedAt!: Date | null;
  @Column('timestamptz') updatedAt!: Date;
}

/** A group of the identity provider. Its name gives a role to its members. */
@Entity('scim_group')
// An index over lower(display_name), which the decorator cannot describe.
@Index('scim_group_name_key', { synchronize: false })
export class ScimGroupEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'scim_group_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') displayName!: string;
  @Column('text', { nullable: true }) externalId!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}

@Entity('scim_group_member')
@Index('scim_group_member_user_idx', ['userId'])
export class ScimGroupMemberEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => ScimGroupEntity, { name: 'scim_group_member_group_fk', onDelete: 'CASCADE' })
  groupId!: string;
  @PrimaryColumn('uuid')
  @ForeignKey(() => UserEntity, { name: 'scim_group_member_user_fk', onDelete: 'CASCADE' })
  userId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'scim_group_member_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
}
