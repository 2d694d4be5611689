/** What an endpoint can be told of: facts, each with the thing that it is of. */
export const webhookTypes = [
  'job.started',
  'job.completed',
  'job.failed',
  'job.cancelled',
  'job.stalled',
  'batch.finished',
  'agent.online',
  'agent.offline',
  'agent.stopped',
  'agent.wake_failed',
  'schedule.skipped',
  'schedule.failed',
  'limit.near',
  'limit.reached',
  'pack.promoted',
  'installation.pinned',
  'autopilot.paused',
  'autopilot.finished',
  'feedback.resolved',
  'webhook.test',
] as const;
export type WebhookType = (typeof webhookTypes)[number];

/** Pending: it is still tried. Dead: it was tried for the last time. */
export const deliveryStatuses = ['pending', 'delivered', 'dead'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Why the service turned an endpoint off: it said 410, or for five days nothing reached it. */
export const turnedOffReasons = ['gone', 'failing'] as const;
export type TurnedOffReason = (typeof turnedOffReasons)[number];
