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

/** Addresses that facts are told to, and what became of each telling. Takes an admin's session. */
export class WebhookEndpoints extends Resource {
  list(call?: CallOptions): List<WebhookEndpoint, WebhookEndpointList> {
    return new List(
      (page) => webhookEndpointsList({ ...this.with(call), query: page }),
      ({ webhookEndpoints }) => webhookEndpoints,
    );
  }

  /** The secret is in this answer, and nowhere else. */
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

  /** Another secret; the old one holds for 24 hours. */
  rotateSecret(id: string, call?: CallOptions) {
    return webhookEndpointsRotate({ ...this.with(call), path: { id } });
  }

  /** Sends it a `webhook.test`. */
  test(id: string, call?: CallOptions) {
    return webhookEndpointsTest({ ...this.with(call), path: { id } });
  }

  deliveries(id: string, query: DeliveryFilters = {}, call?: CallOptions): List<WebhookDelivery, WebhookDeliveryList> {
    return new List(
      (page) => webhookDeliveriesList({ ...this.with(call), path: { id }, query: { ...query, ...page } }),
      ({ deliveries }) => deliveries,
    );
  }

  /** With the body that was sent. */
  delivery(id: string, deliveryId: string, call?: CallOptions) {
    return webhookDeliveriesRead({ ...this.with(call), path: { id, deliveryId } });
  }

  redeliver(id: string, deliveryId: string, call?: CallOptions) {
    return webhookDeliveriesRedeliver({ ...this.with(call), path: { id, deliveryId } });
  }
}
