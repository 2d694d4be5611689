import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { UserEntity } from './access';
import { OrganizationEntity } from './organization';

/**
 * A link by e-mail with which a person sets a password: for an account whose password was forgotten, or for an account
 * that the link creates. A newer link replaces the older one; using a link deletes it.
 */
@Entity('account_link')
@Check('account_link_kind_check', "kind IN ('reset', 'invitation')")
@Index('account_link_email_key', ['organizationId', 'kind', 'email'], { unique: true })
@Index('account_link_user_idx', ['userId'], { where: 'user_id IS NOT NULL' })
@Index('account_link_expires_idx', ['expiresAt'])
export class AccountLinkEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'account_link_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') kind!: 'reset' | 'invitation';
  /** Account whose password the link resets; null for an invitation. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => UserEntity, { name: 'account_link_user_fk', onDelete: 'CASCADE' })
  userId!: string | null;
  /** Email address in lower case. */
  @Column('text') email!: string;
  /** Role of the account that an invitation creates; null for a reset. */
  @Column('text', { nullable: true }) role!: string | null;
  /** SHA-256 of the token that the link contains. */
  @Column('text') secretHash!: string;
  @Column('timestamptz') expiresAt!: Date;
}
