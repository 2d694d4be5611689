import {
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  ListField,
  TextField,
  TextListField,
  UrlField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';
import {
  deliveryStatuses,
  type DeliveryStatus,
  type TurnedOffReason,
  turnedOffReasons,
  type WebhookType,
  webhookTypes,
} from './webhook-words';

const url = {
  example: 'https://example.com/hooks/muster',
  description: 'http or https URL of the endpoint, at a public address.',
};
const events = {
  minItems: 1,
  maxItems: webhookTypes.length + 1,
  values: ['*', ...webhookTypes],
  example: ['job.completed', 'job.failed'],
  description: 'Event types that the endpoint receives; * stands for all types.',
};
const endpointText = { min: 0, max: 500, example: 'Billing system' };

export class CreateWebhookEndpointBody {
  @UrlField(url) url!: string;
  @TextListField(events) events!: string[];
  @TextField({ ...endpointText, optional: true, nullable: true }) description?: string | null;
  @BooleanField({ optional: true, example: true }) enabled?: boolean;
}

export class UpdateWebhookEndpointBody {
  @UrlField({ ...url, optional: true }) url?: string;
  @TextListField({ ...events, optional: true }) events?: string[];
  @TextField({ ...endpointText, optional: true, nullable: true }) description?: string | null;
  @BooleanField({
    optional: true,
    description: 'Whether the endpoint is on. true also turns on an endpoint that the service turned off.',
  })
  enabled?: boolean;
}

export class WebhookEndpoint {
  @UuidField() id!: string;
  @UrlField(url) url!: string;
  @TextListField(events) events!: string[];
  @TextField({ ...endpointText, nullable: true }) description!: string | null;
  @BooleanField({ example: true }) enabled!: boolean;
  @EnumField(turnedOffReasons, {
    nullable: true,
    description: 'Why the service turned the endpoint off; null if it did not.',
  })
  turnedOffReason!: TurnedOffReason | null;
  @DateTimeField({ nullable: true }) turnedOffAt!: string | null;
  @DateTimeField({
    nullable: true,
    description: 'Time since which every attempt has failed; otherwise null.',
  })
  failingSince!: string | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class WebhookEndpointWithSecret extends WebhookEndpoint {
  @TextField({
    description:
      'Secret with which deliveries are signed (Standard Webhooks). Store the secret now, because no later response ' +
      'contains it.',
    example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
  })
  secret!: string;
}

export class WebhookTestStarted {
  @UuidField() deliveryId!: string;
}

export class WebhookRedelivery {
  @UuidField() id!: string;
  @EnumField(deliveryStatuses) status!: DeliveryStatus;
}

export class WebhookEndpointList {
  @ListField(() => WebhookEndpoint) webhookEndpoints!: WebhookEndpoint[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class WebhookAttempt {
  @DateTimeField() at!: string;
  @IntField({
    nullable: true,
    example: 200,
    description: 'Status code of the response; null if there was no response.',
  })
  statusCode!: number | null;
  @IntField({ example: 42 }) durationMs!: number;
  @TextField({ nullable: true, max: 500, example: 'no answer within 10000 ms' }) error!: string | null;
}

export class WebhookDelivery {
  @UuidField({ description: 'Id of the delivery; also the webhook-id header of each of its attempts.' }) id!: string;
  @EnumField(webhookTypes) type!: WebhookType;
  @EnumField(deliveryStatuses) status!: DeliveryStatus;
  @ListField(() => WebhookAttempt, { description: 'Newest 100 attempts, oldest first.' }) attempts!: WebhookAttempt[];
  @DateTimeField({ nullable: true }) nextAttemptAt!: string | null;
  @DateTimeField() createdAt!: string;
}

export class WebhookDeliveryDetail extends WebhookDelivery {
  @TextField({
    max: 10_000_000,
    description: 'Exact body of the request that was sent.',
    example: '{"type":"webhook.test"}',
  })
  body!: string;
}

export class WebhookDeliveryList {
  @ListField(() => WebhookDelivery) deliveries!: WebhookDelivery[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class WebhookDeliveryQuery extends PageQuery {
  @EnumField(deliveryStatuses, { optional: true }) status?: DeliveryStatus;
  @EnumField(webhookTypes, { optional: true }) type?: WebhookType;
}
