import type { ChannelFilter, ChannelKind, MessageStatus, TurnedOffReason, WebhookType } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** An address that an organization wants told of facts, or, with a name, a channel that people are notified by. */
@Entity('webhook_endpoint')
@Check('webhook_endpoint_kind_check', "kind IN ('webhook', 'email', 'slack', 'teams')")
@Index('webhook_endpoint_organization_idx', ['organizationId', 'id'])
export class WebhookEndpointEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'webhook_endpoint_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** A channel's: whatever has none is an endpoint of webhooks. */
  @Column('text', { nullable: true }) name!: string | null;
  @Column('text', { default: 'webhook' }) kind!: ChannelKind;
  /** Of Slack and Teams the origin alone: the whole address is a secret, which is sealed. Of e-mail null. */
  @Column('text', { nullable: true }) url!: string | null;
  /** Of e-mail: who is written to. */
  @Column('text', { array: true, default: [] }) recipients!: string[];
  @Column('jsonb', { nullable: true }) filter!: ChannelFilter | null;
  /** Types, or `*`. */
  @Column('text', { array: true }) events!: string[];
  @Column('text', { nullable: true }) description!: string | null;
  @Column('boolean', { default: true }) enabled!: boolean;
  @Column('text', { nullable: true }) turnedOffReason!: TurnedOffReason | null;
  @Column('timestamptz', { nullable: true }) turnedOffAt!: Date | null;
  /** The first failure after which nothing has reached it. */
  @Column('timestamptz', { nullable: true }) failingSince!: Date | null;
  @Column('integer', { default: 1 }) version!: number;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
}

/**
 * What an endpoint's deliveries are signed with, sealed; one that was rotated away holds until it expires. Of a channel of
 * Slack or Teams its address.
 */
@Entity('webhook_secret')
@Index('webhook_secret_endpoint_idx', ['endpointId'])
@Index('webhook_secret_organization_idx', ['organizationId'])
export class WebhookSecretEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'webhook_secret_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => WebhookEndpointEntity, { name: 'webhook_secret_endpoint_fk', onDelete: 'CASCADE' })
  endpointId!: string;
  @Column('text') masterKeyId!: string;
  @Column('bytea') wrappedKey!: Buffer;
  @Column('bytea') sealed!: Buffer;
  @Column('timestamptz', { nullable: true }) expiresAt!: Date | null;
}

/** A fact that somebody wants to be told of, written in its own transaction; its body is read when it is fanned out. */
@Entity('webhook_event')
@Index('webhook_event_subject_idx', ['subjectId', 'sequence'])
@Index('webhook_event_once_key', ['organizationId', 'once'], { unique: true, where: 'once IS NOT NULL' })
@Index('webhook_event_waiting_idx', ['organizationId', 'id'], { where: 'fanned_out_at IS NULL' })
@Index('webhook_event_created_idx', ['createdAt'])
export class WebhookEventEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  organizationId!: string;
  @Column('text') type!: WebhookType;
  /** The thing that it is of; for a limit the organization. */
  @Column('uuid') subjectId!: string;
  /** Of one thing a later fact has the greater one. */
  @Column('bigint') sequence!: number;
  /** The state that the fact names, and what is not to be read of the thing: why a schedule was skipped, which limit it is. */
  @Column('jsonb', { nullable: true }) details!: Record<string, unknown> | null;
  /** Of facts that are told once: which one it is. */
  @Column('text', { nullable: true }) once!: string | null;
  /** What is sent, byte for byte. */
  @Column('text', { nullable: true }) body!: string | null;
  @Column('timestamptz', { nullable: true }) fannedOutAt!: Date | null;
  /** How often its thing could not be read. */
  @Column('integer', { default: 0 }) faults!: number;
  /** It is tried again no sooner, each time later. */
  @Column('timestamptz', { nullable: true }) restsUntil!: Date | null;
  @Column('timestamptz', { default: () => 'muster_clock()' }) createdAt!: Date;
}

/** A fact on its way to one endpoint. */
@Entity('webhook_delivery')
@Check('webhook_delivery_status_check', "status IN ('pending', 'sending', 'delivered', 'dead', 'unclear')")
@Index('webhook_delivery_recipient_key', ['eventId', 'endpointId', 'recipient'], { unique: true })
@Index('webhook_delivery_endpoint_idx', ['endpointId', 'id'])
@Index('webhook_delivery_due_idx', ['endpointId', 'dueAt'], { where: "status = 'pending'" })
@Index('webhook_delivery_asked_idx', ['endpointId', 'dueAt'], { where: "status = 'pending' AND asked" })
@Index('webhook_delivery_sending_idx', ['leasedUntil'], { where: "status = 'sending'" })
@Index('webhook_delivery_sent_idx', ['endpointId', 'recipient', 'sentAt'], { where: 'sent_at IS NOT NULL' })
@Index('webhook_delivery_organization_idx', ['organizationId'])
@Index('webhook_delivery_created_idx', ['createdAt'])
export class WebhookDeliveryEntity {
  /** Also the header webhook-id. */
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'webhook_delivery_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => WebhookEndpointEntity, { name: 'webhook_delivery_endpoint_fk', onDelete: 'CASCADE' })
  endpointId!: string;
  @Column('uuid')
  @ForeignKey(() => WebhookEventEntity, { name: 'webhook_delivery_event_fk', onDelete: 'CASCADE' })
  eventId!: string;
  @Column('text') type!: WebhookType;
  @Column('text', { default: 'pending' }) status!: MessageStatus;
  /** Of e-mail: to whom; else empty. */
  @Column('text', { default: '' }) recipient!: string;
  /** Of what goes to people: when it was last marked as being sent. */
  @Column('timestamptz', { nullable: true }) sentAt!: Date | null;
  /** How often it was tried since it was made, or asked for again. */
  @Column('integer', { default: 0 }) tries!: number;
  /** An admin asked for it, a test or once more: it goes to an endpoint that is off, too. */
  @Column('boolean', { default: false }) asked!: boolean;
  /** When it is tried next, while it is pending. */
  @Column('timestamptz') dueAt!: Date;
  /** Who is at it just now, and until when it is theirs. */
  @Column('uuid', { nullable: true }) leaseId!: string | null;
  @Column('timestamptz', { nullable: true }) leasedUntil!: Date | null;
  @Column('timestamptz', { default: () => 'muster_clock()' }) createdAt!: Date;
}

/** What came of sending it once. */
@Entity('webhook_attempt')
@Index('webhook_attempt_organization_idx', ['organizationId'])
export class WebhookAttemptEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => WebhookDeliveryEntity, { name: 'webhook_attempt_delivery_fk', onDelete: 'CASCADE' })
  deliveryId!: string;
  @PrimaryColumn('integer') number!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'webhook_attempt_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('timestamptz') at!: Date;
  /** Null: there was no answer. */
  @Column('integer', { nullable: true }) statusCode!: number | null;
  @Column('integer') durationMs!: number;
  @Column('text', { nullable: true }) error!: string | null;
}
