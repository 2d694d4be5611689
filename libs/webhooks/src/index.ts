export { countDue, endpointsWithDue } from './deliveries/claim-delivery';
export { EndpointWorkers, type LinkTarget } from './deliveries/endpoint-workers';
export { purgeWebhooks } from './deliveries/purge-webhooks';
export { type DeliveryRow, findDelivery, listDeliveries } from './deliveries/read-deliveries';
export { redeliver } from './deliveries/redeliver';
export { type EndpointRow, findEndpoint, listEndpoints } from './endpoints/endpoint-row';
export { rewrapWebhookSecrets } from './endpoints/rewrap-secrets';
export {
  createEndpoint,
  deleteEndpoint,
  requireCallable,
  rotateSecret,
  updateEndpoint,
} from './endpoints/save-endpoint';
export { testEndpoint } from './endpoints/test-endpoint';
export { emitEvent, eventColumns, eventPartsSql, valuesOfEvent, type WebhookEvent } from './events/emit-event';
export { notifyExpiringKeys } from './events/notify-expiring-keys';
export { type EventRow, fanOut, type FanOutParts } from './events/fan-out';
export { type ChannelRow, findChannel, listChannels } from './channels/channel-row';
export { createChannel, deleteChannel, hasSecretUrl, testChannel, updateChannel } from './channels/save-channel';
export { SmtpConfig } from './channels/smtp.config';
export { endUnclear } from './messages/claim-message';
export type { NotifiedEvent } from './messages/write-message';
