import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { UserEntity } from './access';
import { OrganizationEntity } from './organization';

/** The OpenID Connect provider with which the users of an organization sign in. */
@Entity('organization_sso')
export class OrganizationSsoEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'organization_sso_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') issuer!: string;
  @Column('text') clientId!: string;
  /** The client secret is sealed in these three columns. */
  @Column('text') masterKeyId!: string;
  @Column('bytea') wrappedKey!: Buffer;
  @Column('bytea') sealed!: Buffer;
  /** Email domains whose users sign in with the provider, in lower case. Only proved ones take effect. */
  @Column('text', { array: true }) domains!: string[];
  /** Claim from which the role of a user is read; null if the provider decides about no roles. */
  @Column('text', { nullable: true }) roleClaim!: string | null;
  /** Roles by value of the claim; null if the values are names of roles. */
  @Column('jsonb', { nullable: true }) roleMap!: Record<string, string> | null;
  /** Whether users of the domains can sign in only with the provider. */
  @Column('boolean') enforced!: boolean;
  /** Authentication contexts (`acr`), of which the ID token must name one; any if empty. */
  @Column('text', { array: true, default: [] }) requiredAcr!: string[];
  /** Authentication methods (`amr`), all of which the ID token must name. */
  @Column('text', { array: true, default: [] }) requiredAmr!: string[];
  /** Maximum time since the user proved to the provider who they are; null if any time is accepted. */
  @Column('integer', { nullable: true }) maxAgeSeconds!: number | null;
}

/**
 * The account of a user of a provider. The provider never gives a subject to another user, but may give an email
 * address to another one. Subjects may differ for each client.
 */
@Entity('sso_link')
@Index('sso_link_user_key', ['userId', 'issuer', 'clientId'], { unique: true })
export class SsoLinkEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'sso_link_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') issuer!: string;
  @PrimaryColumn('text') clientId!: string;
  @PrimaryColumn('text') subject!: string;
  @Column('uuid')
  @ForeignKey(() => UserEntity, { name: 'sso_link_user_fk', onDelete: 'CASCADE' })
  userId!: string;
}

/**
 * An email domain that an organization claims. The domain belongs to the organization once it is proved, by a DNS
 * record or by the super_admin.
 */
@Entity('organization_domain')
@Check('organization_domain_proved_by_check', "proved_by IN ('dns', 'super_admin')")
@Index('organization_domain_proved_key', ['domain'], { unique: true, where: 'proved_at IS NOT NULL' })
export class OrganizationDomainEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'organization_domain_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') domain!: string;
  /** Random value that the DNS record must contain. */
  @Column('text') token!: string;
  @Column('timestamptz', { nullable: true }) provedAt!: Date | null;
  @Column('text', { nullable: true }) provedBy!: 'dns' | 'super_admin' | null;
}

/** A sign-in that was sent to a provider, stored until the browser comes back. */
@Entity('sso_sign_in')
@Index('sso_sign_in_expires_idx', ['expiresAt'])
export class SsoSignInEntity {
  /** SHA-256 of the OAuth state parameter of the sign-in. */
  @PrimaryColumn('text') stateHash!: string;
  /** SHA-256 of the cookie of the browser that started the sign-in. */
  @Column('text') browserHash!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'sso_sign_in_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') issuer!: string;
  @Column('text') redirectUri!: string;
  @Column('timestamptz') expiresAt!: Date;
}
