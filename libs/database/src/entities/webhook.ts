import type { ChannelFilter, ChannelKind, MessageStatus, TurnedOffReason, WebhookType } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** A webhook endpoint of an organization, or, if it has a name, a channel that notifies people. */
@Entity('webhook_endpoint')
@Check('webhook_endpoint_kind_check', "kind IN ('webhook', 'email', 'slack', 'teams')")
@Index('webhook_endpoint_organization_idx', ['organizationId', 'id'])
export class WebhookEndpointEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'webhook_endpoint_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  /** Name of a channel; null for a webhook endpoint. */
  @Column('text', { nullable: true }) name!: string | null;
  @Column('text', { default: 'webhook' }) kind!: ChannelKind;
  /**
   * URL of the receiver. For Slack and Teams only its origin: the whole URL is a secret and stored encrypted. Null for
   * email.
   */
  @Column('text', { nullable: true }) url!: string | null;
  /** Addresses of an email channel; otherwise empty. */
  @Column('text', { array: true, default: [] }) recipients!: string[];
  @Column('jsonb', { nullable: true }) filter!: ChannelFilter | null;
  /** Types of the events that the endpoint gets, or `*` for all. */
  @Column('text', { array: true }) events!: string[];
  @Column('text', { nullable: true }) description!: string | null;
  @Column('boolean', { default: true }) enabled!: boolean;
  @Column('text', { nullable: true }) turnedOffReason!: TurnedOffReason | null;
  @Column('timestamptz', { nullable: true }) turnedOffAt!: Date | null;
  /** Time of the first failure since the last success; null if the last attempt succeeded. */
  @Column('timestamptz', { nullable: true }) failingSince!: Date | null;
  @Column('integer', { default: 1 }) version!: number;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
}

/**
 * A sealed secret that signs an endpoint's deliveries. A rotated secret is valid until it expires. For a Slack or Teams
 * channel it is the sealed URL.
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

/** An event, written in the transaction that it reports. Its body is composed when the event is fanned out. */
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
  /** Resource that the event is about; the organization if it is about a limit. */
  @Column('uuid') subjectId!: string;
  /** Order of the events of one resource. A later event has a greater number. */
  @Column('bigint') sequence!: number;
  /**
   * State that the event reports, and what cannot be read from the resource, such as why a schedule was skipped or
   * which limit is near; null if there is nothing.
   */
  @Column('jsonb', { nullable: true }) details!: Record<string, unknown> | null;
  /** Key of an event that is emitted only once per organization; null for other events. */
  @Column('text', { nullable: true }) once!: string | null;
  /** Channels that get the event even if they are not subscribed to its type; null if there are none. */
  @Column('uuid', { array: true, nullable: true }) channelIds!: string[] | null;
  /** Body that is sent, byte for byte; null until the event is fanned out. */
  @Column('text', { nullable: true }) body!: string | null;
  @Column('timestamptz', { nullable: true }) fannedOutAt!: Date | null;
  /** Number of times that the resource could not be read. */
  @Column('integer', { default: 0 }) faults!: number;
  /** Time before which the event is not tried again; the delay grows with each failure. Null before the first. */
  @Column('timestamptz', { nullable: true }) restsUntil!: Date | null;
  @Column('timestamptz', { default: () => 'muster_clock()' }) createdAt!: Date;
}

/** The delivery of an event to one endpoint. */
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
  /** Id of the delivery, sent in the header webhook-id. */
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => WebhookEndpointEntity, { name: 'webhook_delivery_endpoint_fk', onDelete: 'CASCADE' })
  endpointId!: string;
  @Column('uuid')
  @ForeignKey(() => WebhookEventEntity, { name: 'webhook_delivery_event_fk', onDelete: 'CASCADE' })
  eventId!: string;
  @Column('text') type!: WebhookType;
  @Column('text', { default: 'pending' }) status!: MessageStatus;
  /** Address of the recipient, if it is an email; otherwise empty. */
  @Column('text', { default: '' }) recipient!: string;
  /** For a channel, time when the message was last marked as being sent; otherwise null. */
  @Column('timestamptz', { nullable: true }) sentAt!: Date | null;
  /** Number of attempts since the delivery was created or last requested again. */
  @Column('integer', { default: 0 }) tries!: number;
  /**
   * Whether an admin requested the delivery (a test or a redelivery). Such a delivery is sent even if the endpoint is
   * disabled.
   */
  // eslint-disable-next-line id-denylist -- the name of the column
  @Column('boolean', { default: false }) asked!: boolean;
  /** Time of the next attempt, while the delivery is pending. */
  @Column('timestamptz') dueAt!: Date;
  /** Token of the process that is sending the delivery, leased until `leasedUntil`; null if none is. */
  @Column('uuid', { nullable: true }) leaseId!: string | null;
  @Column('timestamptz', { nullable: true }) leasedUntil!: Date | null;
  @Column('timestamptz', { default: () => 'muster_clock()' }) createdAt!: Date;
}

/** The outcome of one attempt to send a delivery. */
@Entity('webhook_attempt')
@Index('webhook_attempt_organization_idx', ['organizationId'])
export class WebhookAttemptEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => WebhookDeliveryEntity, { name: 'webhook_attempt_delivery_fk', onDelete: 'CASCADE' })
  deliveryId!: string;
  @PrimaryColumn('integer') number!: number;
  @Column('uuid')
  organizationId!: string;
  @Column('timestamptz') at!: Date;
  /** HTTP status code; null if there was no response. */
  @Column('integer', { nullable: true }) statusCode!: number | null;
  @Column('integer') durationMs!: number;
  @Column('text', { nullable: true }) error!: string | null;
}
