import type { ActorKind, ApiKeyRole, ApiKeyScope, ReadSubject, Role, SecretKind, SignInNeed } from '@muster/contracts';
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
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) lastSignInAt!: Date | null;
  /** Since when a code or a passkey is asked for beside the password; null while none is, also during an enrolment. */
  @Column('timestamptz', { nullable: true }) secondFactorSince!: Date | null;
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
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' }) lastSeenAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** Where it was opened from, for its owner to recognize; null for those of before. */
  @Column('text', { nullable: true }) address!: string | null;
  @Column('text', { nullable: true }) browser!: string | null;
  /** When its second factor was last proved. */
  @Column('timestamptz', { nullable: true }) secondFactorAt!: Date | null;
}

/** What a user's codes are made of, sealed; it counts once it is confirmed. */
@Entity('second_factor')
export class SecondFactorEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => UserEntity, { name: 'second_factor_user_fk', onDelete: 'CASCADE' })
  userId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'second_factor_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') masterKeyId!: string;
  @Column('bytea') wrappedKey!: Buffer;
  @Column('bytea') sealed!: Buffer;
  /** The window of the code that was accepted last: neither it nor one before is accepted again. 0 until the first. */
  @Column('bigint', { default: 0 }) lastCounter!: number;
  /** SHA-256 of the recovery codes that are left; they are random, so they need no slow hash. */
  @Column('text', { array: true, default: [] }) recoveryHashes!: string[];
}

/** A public key of an authenticator, whose owner it signs in by itself. */
@Entity('passkey')
@Index('passkey_credential_key', ['credentialId'], { unique: true })
@Index('passkey_user_idx', ['userId', 'id'])
export class PasskeyEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => UserEntity, { name: 'passkey_user_fk', onDelete: 'CASCADE' })
  userId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'passkey_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') name!: string;
  /** What the authenticator calls it, in base64url. */
  @Column('text') credentialId!: string;
  /** In COSE. */
  @Column('bytea') publicKey!: Buffer;
  /** How often the authenticator says that it has signed; one that does not count says 0. */
  @Column('bigint') counter!: number;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
}

/** What an authenticator was asked to sign, until it is answered. */
@Entity('passkey_challenge')
@Index('passkey_challenge_expires_idx', ['expiresAt'])
export class PasskeyChallengeEntity {
  @PrimaryColumn('text') challenge!: string;
  /** Who may add a passkey by it; null for a sign-in, where nobody has said who he is. */
  @Column('uuid', { nullable: true }) userId!: string | null;
  @Column('timestamptz') expiresAt!: Date;
}

/** Shows that a password was right, and nothing more: what is still needed is proved with it. */
@Entity('sign_in_ticket')
@Check('sign_in_ticket_needs_check', "needs IN ('totp', 'enrolment')")
@Index('sign_in_ticket_user_idx', ['userId'])
@Index('sign_in_ticket_expires_idx', ['expiresAt'])
export class SignInTicketEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => UserEntity, { name: 'sign_in_ticket_user_fk', onDelete: 'CASCADE' })
  userId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'sign_in_ticket_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') secretHash!: string;
  /** totp stands for a proof of any factor that the account has. */
  @Column('text') needs!: Exclude<SignInNeed, 'passkey'>;
  @Column('integer', { default: 0 }) failures!: number;
  @Column('timestamptz') expiresAt!: Date;
}

/** A program that waits for somebody to let it in (RFC 8628), until it has fetched its key. */
@Entity('device_login')
@Check('device_login_answer_check', "answer IN ('allowed', 'denied')")
@Index('device_login_device_key', ['deviceHash'], { unique: true })
@Index('device_login_code_key', ['userCode'], { unique: true })
@Index('device_login_expires_idx', ['expiresAt'])
export class DeviceLoginEntity {
  @PrimaryColumn('uuid') id!: string;
  /** SHA-256 of what the program asks with. */
  @Column('text') deviceHash!: string;
  /** Its letters, without what is shown between them. */
  @Column('text') userCode!: string;
  @Column('text') deviceName!: string;
  @Column('text') address!: string;
  /** How long it waits between two questions; longer after each that came early. */
  @Column('integer') pollSeconds!: number;
  @Column('timestamptz', { nullable: true }) polledAt!: Date | null;
  @Column('text', { nullable: true }) answer!: 'allowed' | 'denied' | null;
  /** Who answered, and for which organization. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => UserEntity, { name: 'device_login_user_fk', onDelete: 'CASCADE' })
  userId!: string | null;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => OrganizationEntity, { name: 'device_login_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string | null;
  @Column('timestamptz') createdAt!: Date;
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
@Check('api_key_role_check', "role IN ('viewer', 'member')")
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
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
  @Column('text', { nullable: true }) lastUsedFrom!: string | null;
  @Column('text', { default: 'member' }) role!: ApiKeyRole;
  /** Addresses and ranges that it works from; anywhere where there are none. */
  @Column('text', { array: true, default: [] }) ipAllow!: string[];
  /** Whose sign-in on a machine it is; it ends with the account. Null for a key that was made by name. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => UserEntity, { name: 'api_key_user_fk', onDelete: 'CASCADE' })
  userId!: string | null;
}

/** A value sealed with a data key of its own, which the master key ring wraps. */
@Entity('vault_secret')
@Check('vault_secret_kind_check', "kind IN ('secret', 'totp')")
export class VaultSecretEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'vault_secret_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') key!: string;
  @Column('text') masterKeyId!: string;
  @Column('bytea') wrappedKey!: Buffer;
  @Column('bytea') sealed!: Buffer;
  /** What a totp makes codes of is given to nobody. */
  @Column('text', { default: 'secret' }) kind!: SecretKind;
  /** The window whose code was given last, and to which run. */
  @Column('bigint', { nullable: true }) totpCounter!: number | null;
  @Column('uuid', { nullable: true }) totpJobId!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
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
  organizationId!: string;
  @Column('timestamptz', { default: () => 'muster_now()' }) at!: Date;
  @Column('text') actorKind!: ActorKind;
  @Column('text') actorId!: string;
  @Column('text', { nullable: true }) actorEmail!: string | null;
  @Column('text') action!: string;
  @Column('text') targetType!: string;
  @Column('text') targetId!: string;
  @Column('jsonb', { default: {} }) changes!: Record<string, unknown>;
  @Column('text', { nullable: true }) requestId!: string | null;
}

/** Who read what may be a patient's. Written once, never changed. */
@Entity('access_entry')
@Check('access_entry_actor_check', "actor_kind IN ('user', 'api_key')")
@Index('access_entry_minute_key', ['organizationId', 'actorId', 'subjectId', 'route', 'minute'], { unique: true })
@Index('access_entry_organization_idx', ['organizationId', 'id'])
@Index('access_entry_actor_idx', ['organizationId', 'actorId', 'id'])
@Index('access_entry_subject_idx', ['organizationId', 'subjectId', 'id'])
export class AccessEntryEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'access_entry_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** The one that the row stands for. */
  @Column('timestamptz') minute!: Date;
  @Column('timestamptz') at!: Date;
  @Column('text') actorKind!: Exclude<ActorKind, 'system'>;
  @Column('text') actorId!: string;
  @Column('text', { nullable: true }) actorEmail!: string | null;
  @Column('text') address!: string;
  /** With the names of its parameters in place of their values. */
  @Column('text') route!: string;
  @Column('text') subjectType!: ReadSubject;
  /** Empty for a list of all. */
  @Column('text') subjectId!: string;
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
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
}
