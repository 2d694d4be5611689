import type { ActorKind, ApiKeyScope, Role } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { OrganizationEntity } from './organization';

@Entity('app_user')
@Check('app_user_role_check', "role IN ('viewer', 'member', 'admin', 'super_admin')")
@Index('app_user_organization_idx', ['organizationId', 'id'])
@Index('app_user_email_key', ['email'], { unique: true })
export class UserEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'app_user_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** Lower case; people sign in with it alone, so it is unique over all organizations. */
  @Column('text') email!: string;
  @Column('text') passwordHash!: string;
  @Column('text') role!: Role;
  @Column('boolean', { default: false }) disabled!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) lastSignInAt!: Date | null;
}

@Entity('user_session')
@Index('user_session_user_idx', ['userId'])
@Index('user_session_expires_idx', ['expiresAt'])
export class SessionEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => UserEntity, { name: 'user_session_user_fk', onDelete: 'CASCADE' })
  userId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'user_session_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** The organization that a super_admin looks at instead of the own one. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => OrganizationEntity, { name: 'user_session_override_fk', onDelete: 'SET NULL' })
  overrideOrganizationId!: string | null;
  /** SHA-256 of the cookie's secret part. */
  @Column('text') secretHash!: string;
  @Column('timestamptz', { default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) lastSeenAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
}

/** An address that an account was signed in to from: its failures there are counted apart from strangers'. */
@Entity('sign_in_address')
@Index('sign_in_address_last_idx', ['lastAt'])
export class SignInAddressEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => UserEntity, { name: 'sign_in_address_user_fk', onDelete: 'CASCADE' })
  userId!: string;
  /** An IPv4 address, or the /64 of an IPv6 address. */
  @PrimaryColumn('text') address!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'sign_in_address_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('timestamptz') lastAt!: Date;
}

@Entity('api_key')
@Check('api_key_scope_check', "scope IN ('api', 'worker')")
@Index('api_key_organization_idx', ['organizationId', 'createdAt'])
@Index('api_key_agent_idx', ['agentId'], { where: 'agent_id IS NOT NULL' })
export class ApiKeyEntity {
  /** The part of the key that may be shown: msk_<id>_<secret>. */
  @PrimaryColumn('text') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'api_key_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') name!: string;
  @Column('text') scope!: ApiKeyScope;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => AgentEntity, { name: 'api_key_agent_fk', onDelete: 'CASCADE' })
  agentId!: string | null;
  /** SHA-256 of the whole key; a random secret needs no slow hash. */
  @Column('text') secretHash!: string;
  @Column('timestamptz', { nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz', { default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
}

/** A value sealed with a data key of its own, which the master key ring wraps. */
@Entity('vault_secret')
export class VaultSecretEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'vault_secret_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') key!: string;
  @Column('text') masterKeyId!: string;
  @Column('bytea') wrappedKey!: Buffer;
  @Column('bytea') sealed!: Buffer;
  @Column('timestamptz', { default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
}

/** Written once, never changed: the roles that the service acts as may not update it. */
@Entity('audit_entry')
@Check('audit_entry_actor_check', "actor_kind IN ('user', 'api_key', 'system')")
@Index('audit_entry_organization_idx', ['organizationId', 'id'])
@Index('audit_entry_actor_idx', ['organizationId', 'actorId', 'id'])
@Index('audit_entry_target_idx', ['organizationId', 'targetId', 'id'])
@Index('audit_entry_action_idx', ['organizationId', 'action', 'id'], { where: "action <> 'job.launch'" })
export class AuditEntryEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'audit_entry_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('timestamptz', { default: () => 'now()' }) at!: Date;
  @Column('text') actorKind!: ActorKind;
  @Column('text') actorId!: string;
  @Column('text', { nullable: true }) actorEmail!: string | null;
  @Column('text') action!: string;
  @Column('text') targetType!: string;
  @Column('text') targetId!: string;
  @Column('jsonb', { default: {} }) changes!: Record<string, unknown>;
  @Column('text', { nullable: true }) requestId!: string | null;
}

/** The answer to a POST that carried an Idempotency-Key, stored with its effect and kept for 24 hours. */
@Entity('idempotency_key')
@Index('idempotency_key_expires_idx', ['expiresAt'])
export class IdempotencyKeyEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'idempotency_key_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') route!: string;
  @PrimaryColumn('text') key!: string;
  @Column('text') requestHash!: string;
  @Column('integer') status!: number;
  @Column('text', { nullable: true }) location!: string | null;
  @Column('jsonb') body!: unknown;
  @Column('timestamptz', { default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
}
