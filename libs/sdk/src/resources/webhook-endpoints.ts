import {
  type CreateWebhookEndpointBody,
  type UpdateWebhookEndpointBody,
  webhookDeliveriesList,
  type WebhookDeliveriesListData,
  webhookDeliveriesRead,
  webhookDeliveriesRedeliver,
  type WebhookDelivery,
  type WebhookDeliveryList,
  type WebhookEndpoint,
  type WebhookEndpointList,
  webhookEndpointsCreate,
  webhookEndpointsDelete,
  webhookEndpointsList,
  webhookEndpointsRead,
  webhookEndpointsRotate,
  webhookEndpointsTest,
  webhookEndpointsUpdate,
} from '../generated';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';

type DeliveryFilters = Omit<NonNullable<WebhookDeliveriesListData['query']>, 'cursor'>;

/** Webhook endpoints and their deliveries. Require an admin's session. */
export class WebhookEndpoints extends Resource {
  list(call?: CallOptions): List<WebhookEndpoint, WebhookEndpointList> {
    return new List(
      (page) => webhookEndpointsList({ ...this.with(call), query: page }),
      ({ webhookEndpoints }) => webhookEndpoints,
    );
  }

  /** Creates an endpoint. Only this response contains the secret. */
  create(body: CreateWebhookEndpointBody, call?: CallOptions) {
    return webhookEndpointsCreate({ ...this.with(call), body });
  }

  get(id: string, call?: CallOptions) {
    return webhookEndpointsRead({ ...this.with(call), path: { id } });
  }

  update(id: string, body: UpdateWebhookEndpointBody, call?: CallOptions) {
    return webhookEndpointsUpdate({ ...this.with(call), path: { id }, body });
  }

  delete(id: string, call?: CallOptions) {
    return webhookEndpointsDelete({ ...this.with(call), path: { id } });
  }

  /** Creates a new secret. The old secret remains valid for 24 hours. */
  rotateSecret(id: string, call?: CallOptions) {
    return webhookEndpointsRotate({ ...this.with(call), path: { id } });
  }

  /** Sends a `webhook.test` event to an endpoint. */
  test(id: string, call?: CallOptions) {
    return webhookEndpointsTest({ ...this.with(call), path: { id } });
  }

  deliveries(id: string, query: DeliveryFilters = {}, call?: CallOptions): List<WebhookDelivery, WebhookDeliveryList> {
    return new List(
      (page) => webhookDeliveriesList({ ...this.with(call), path: { id }, query: { ...query, ...page } }),
      ({ deliveries }) => deliveries,
    );
  }

  /** Returns a delivery with the body that was sent. */
  delivery(id: string, deliveryId: string, call?: CallOptions) {
    return webhookDeliveriesRead({ ...this.with(call), path: { id, deliveryId } });
  }

  redeliver(id: string, deliveryId: string, call?: CallOptions) {
    return webhookDeliveriesRedeliver({ ...this.with(call), path: { id, deliveryId } });
  }
}
