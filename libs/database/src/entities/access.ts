import type { ActorKind, ApiKeyRole, ApiKeyScope, ReadSubject, SecretKind, SignInNeed } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { OrganizationEntity } from './organization';

@Entity('app_user')
@Index('app_user_organization_idx', ['organizationId', 'id'])
@Index('app_user_email_key', ['email'], { unique: true })
@Index('app_user_break_glass_key', ['organizationId'], { unique: true, where: 'break_glass' })
export class UserEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'app_user_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /**
   * Email address in lower case. Users sign in without naming an organization, so it is unique across all
   * organizations.
   */
  @Column('text') email!: string;
  @Column('text') passwordHash!: string;
  /** One of the four roles, or the name of an own role of the organization (`OwnRoleEntity`). */
  @Column('text') role!: string;
  @Column('boolean', { default: false }) disabled!: boolean;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) lastSignInAt!: Date | null;
  /**
   * Time since which a sign-in requires a code or a passkey in addition to the password; null if the password is
   * enough, also while the second factor is being set up.
   */
  @Column('timestamptz', { nullable: true }) secondFactorSince!: Date | null;
  /** Whether this admin may sign in with a password although single sign-on is enforced; one admin at most. */
  @Column('boolean', { default: false }) breakGlass!: boolean;
  /**
   * Whether the user must set up a second factor if the service has a public address, even if the organization requires
   * none. True for the super_admin of the configuration, unless an earlier version created it.
   */
  @Column('boolean', { default: false }) mustEnrol!: boolean;
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
  /** Organization that a super_admin has switched to; null for the user's own organization. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => OrganizationEntity, { name: 'user_session_override_fk', onDelete: 'SET NULL' })
  overrideOrganizationId!: string | null;
  /** SHA-256 of the secret part of the session cookie. */
  @Column('text') secretHash!: string;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' }) lastSeenAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  /** IP address that opened the session, shown to its user; null for sessions that are older than this column. */
  @Column('text', { nullable: true }) address!: string | null;
  @Column('text', { nullable: true }) browser!: string | null;
  /** Time when the second factor was last verified in this session; null if never. */
  @Column('timestamptz', { nullable: true }) secondFactorAt!: Date | null;
  /** SHA-256 of the token before the present one, which is still accepted until `previousUntil`. */
  @Column('text', { nullable: true }) previousHash!: string | null;
  @Column('timestamptz', { nullable: true }) previousUntil!: Date | null;
}

/** Sealed secret of a user's one-time codes. It is in effect once the user has confirmed it with a code. */
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
  /** Time window of the last accepted code; 0 before the first. Codes of this and earlier windows are rejected. */
  @Column('bigint', { default: 0 }) lastCounter!: number;
  /** SHA-256 of the unused recovery codes. The codes are random, so they need no slow hash. */
  @Column('text', { array: true, default: [] }) recoveryHashes!: string[];
}

/** A public key of an authenticator. It signs its owner in without a password. */
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
  /** Credential id that the authenticator assigned, in base64url. */
  @Column('text') credentialId!: string;
  /** Public key of the passkey in COSE format. */
  @Column('bytea') publicKey!: Buffer;
  /** Signature counter that the authenticator reported last; 0 if the authenticator does not count. */
  @Column('bigint') counter!: number;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
}

/** A challenge for an authenticator to sign, stored until it is answered. */
@Entity('passkey_challenge')
@Index('passkey_challenge_expires_idx', ['expiresAt'])
export class PasskeyChallengeEntity {
  @PrimaryColumn('text') challenge!: string;
  /** User who may add a passkey with this challenge; null for a sign-in, because the user is not known yet. */
  @Column('uuid', { nullable: true }) userId!: string | null;
  @Column('timestamptz') expiresAt!: Date;
}

/**
 * Proof that a user entered the right password (the ticket of a sign-in). The second factor is still required: the user
 * sends it together with the ticket.
 */
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
  /** `totp` means that any second factor of the account is accepted. */
  @Column('text') needs!: Exclude<SignInNeed, 'passkey'>;
  @Column('integer', { default: 0 }) failures!: number;
  @Column('timestamptz') expiresAt!: Date;
}

/**
 * A device login (RFC 8628): a program that waits for a user's approval. Stored until the program has fetched its key.
 */
@Entity('device_login')
@Check('device_login_answer_check', "answer IN ('allowed', 'denied')")
@Index('device_login_device_key', ['deviceHash'], { unique: true })
@Index('device_login_code_key', ['userCode'], { unique: true })
@Index('device_login_expires_idx', ['expiresAt'])
export class DeviceLoginEntity {
  @PrimaryColumn('uuid') id!: string;
  /** SHA-256 of the device code that the program polls with. */
  @Column('text') deviceHash!: string;
  /** Letters of the user code, without the separators that are displayed between them. */
  @Column('text') userCode!: string;
  @Column('text') deviceName!: string;
  @Column('text') address!: string;
  /** Minimum time between two polls in seconds. It grows with each poll that is too early. */
  @Column('integer') pollSeconds!: number;
  @Column('timestamptz', { nullable: true }) polledAt!: Date | null;
  @Column('text', { nullable: true }) answer!: 'allowed' | 'denied' | null;
  /**
   * User who approved or denied the sign-in of the device; null until then. `organizationId` is that user's
   * organization.
   */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => UserEntity, { name: 'device_login_user_fk', onDelete: 'CASCADE' })
  userId!: string | null;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => OrganizationEntity, { name: 'device_login_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
}

/**
 * An address from which an account has signed in. Its failed sign-ins are counted separately from those of unknown
 * addresses.
 */
@Entity('sign_in_address')
@Index('sign_in_address_last_idx', ['lastAt'])
export class SignInAddressEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => UserEntity, { name: 'sign_in_address_user_fk', onDelete: 'CASCADE' })
  userId!: string;
  /** IPv4 address, or the /64 prefix of an IPv6 address. */
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
  /** Part of the key that may be displayed: msk_<id>_<secret>. */
  @PrimaryColumn('text') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'api_key_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') name!: string;
  @Column('text') scope!: ApiKeyScope;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => AgentEntity, { name: 'api_key_agent_fk', onDelete: 'CASCADE' })
  agentId!: string | null;
  /** SHA-256 of the whole key. The secret is random, so it needs no slow hash. */
  @Column('text') secretHash!: string;
  @Column('timestamptz', { nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
  @Column('text', { nullable: true }) lastUsedFrom!: string | null;
  @Column('text', { default: 'member' }) role!: ApiKeyRole;
  /** Addresses and ranges from which the key may be used; empty for any address. */
  @Column('text', { array: true, default: [] }) ipAllow!: string[];
  /**
   * User whose device login created the key; the key ends with the account. Null for a key that was created by name.
   */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => UserEntity, { name: 'api_key_user_fk', onDelete: 'CASCADE' })
  userId!: string | null;
}

/** A value that is sealed with its own data key. The master key ring wraps the data key. */
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
  /** Kind of the value. Scripts get the value of a `secret`, but only the codes of a `totp` and never its seed. */
  @Column('text', { default: 'secret' }) kind!: SecretKind;
  /**
   * Time window of the last code that was handed out; null before the first. `totpJobId` is the run that received it.
   */
  @Column('bigint', { nullable: true }) totpCounter!: number | null;
  @Column('uuid', { nullable: true }) totpJobId!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
}

/** An entry of the audit trail. It never changes: the service's database roles may not update it. */
@Entity('audit_entry')
@Check('audit_entry_actor_check', "actor_kind IN ('user', 'api_key', 'system')")
@Index('audit_entry_organization_idx', ['organizationId', 'id'])
@Index('audit_entry_actor_idx', ['organizationId', 'actorId', 'id'])
@Index('audit_entry_target_idx', ['organizationId', 'targetId', 'id'])
@Index('audit_entry_action_idx', ['organizationId', 'action', 'id'], { where: "action <> 'job.launch'" })
// The index is created by a migration, because the decorator cannot describe a BRIN index.
@Index('audit_entry_day_idx', { synchronize: false })
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
  /** SHA-256 that the writing process computed of the row. Null in rows of releases that wrote none. */
  @Column('bytea', { nullable: true }) digest!: Buffer | null;
}

/** A read access to data that may belong to a patient. The row never changes. */
@Entity('access_entry')
@Check('access_entry_actor_check', "actor_kind IN ('user', 'api_key')")
@Index('access_entry_minute_key', ['organizationId', 'actorId', 'subjectId', 'route', 'minute'], { unique: true })
@Index('access_entry_organization_idx', ['organizationId', 'id'])
@Index('access_entry_actor_idx', ['organizationId', 'actorId', 'id'])
@Index('access_entry_subject_idx', ['organizationId', 'subjectId', 'id'])
// The index is created by a migration, because the decorator cannot describe a BRIN index.
@Index('access_entry_day_idx', { synchronize: false })
export class AccessEntryEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  organizationId!: string;
  /** Minute that the row represents. Further reads of the same actor, subject and route in this minute add no row. */
  @Column('timestamptz') minute!: Date;
  @Column('timestamptz') at!: Date;
  @Column('text') actorKind!: Exclude<ActorKind, 'system'>;
  @Column('text') actorId!: string;
  @Column('text', { nullable: true }) actorEmail!: string | null;
  @Column('text') address!: string;
  /** Route with the names of its parameters instead of their values. */
  @Column('text') route!: string;
  @Column('text') subjectType!: ReadSubject;
  /** Id of the resource that was read; empty for a list of all. */
  @Column('text') subjectId!: string;
  /** SHA-256 that the writing process computed of the row. Null in rows of releases that wrote none. */
  @Column('bytea', { nullable: true }) digest!: Buffer | null;
}

/**
 * The response to a POST with an Idempotency-Key, committed together with the effect of the POST and retained for 24
 * hours.
 */
@Entity('idempotency_key')
@Index('idempotency_key_expires_idx', ['expiresAt'])
export class IdempotencyKeyEntity {
  @PrimaryColumn('uuid')
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

/** The sealed key of an organization, with which the sensitive values of its runs are encrypted. */
@Entity('value_key')
export class ValueKeyEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'value_key_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') masterKeyId!: string;
  @Column('bytea') wrappedKey!: Buffer;
  @Column('bytea') sealed!: Buffer;
}
