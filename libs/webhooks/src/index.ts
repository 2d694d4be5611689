export { countDueDeliveries, listEndpointsWithDueDeliveries } from './deliveries/claim-delivery';
export { EndpointWorkers, type LinkTarget } from './deliveries/endpoint-workers';
export { purgeWebhooks } from './deliveries/purge-webhooks';
export { type DeliveryRow, findDelivery, listDeliveries } from './deliveries/read-deliveries';
export { redeliverEvent } from './deliveries/redeliver-event';
export { type EndpointRow, findEndpoint, listEndpoints } from './endpoints/endpoint-row';
export { rewrapWebhookSecrets } from './endpoints/rewrap-secrets';
export {
  createEndpoint,
  deleteEndpoint,
  requireCallableUrl,
  rotateEndpointSecret,
  updateEndpoint,
} from './endpoints/save-endpoint';
export { sendTestToEndpoint } from './endpoints/send-test-to-endpoint';
export { emitEvent, eventColumns, emitEventPartsSql, getEventValues, type WebhookEvent } from './events/emit-event';
export { notifyExpiringKeys } from './events/notify-expiring-keys';
export { type EventRow, createDeliveriesOfEvents, type FanOutParts } from './events/create-deliveries-of-events';
export { type ChannelRow, findChannel, listChannels } from './channels/channel-row';
export { createChannel, deleteChannel, usesSecretUrl, sendTestToChannel, updateChannel } from './channels/save-channel';
export { SmtpConfig } from './channels/smtp.config';
export { sendMail } from './messages/send-mail';
export { endUnclearMessages } from './messages/claim-message';
export type { NotifiedEvent } from './messages/write-message';
