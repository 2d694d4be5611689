/** Event types that an endpoint can receive, each with the resource that it is about. */
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
  'api_key.expiring',
  'pack.promoted',
  'installation.pinned',
  'autopilot.paused',
  'autopilot.finished',
  'feedback.resolved',
  'question.asked',
  'question.answered',
  'question.expired',
  'account.set_aside',
  'user.break_glass',
  'alert.opened',
  'alert.resolved',
  'webhook.test',
] as const;
export type WebhookType = (typeof webhookTypes)[number];

/** `pending`: another attempt follows. `dead`: the delivery failed and is not attempted again. */
export const deliveryStatuses = ['pending', 'delivered', 'dead'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/**
 * Statuses of messages to people. `sending`: the message is being sent. `unclear`: it may have arrived, so it is not
 * sent again.
 */
export const messageStatuses = ['pending', 'sending', 'delivered', 'dead', 'unclear'] as const;
export type MessageStatus = (typeof messageStatuses)[number];

/** Kinds of channels: a webhook delivers to a program, the others to people. */
export const channelKinds = ['email', 'slack', 'teams', 'webhook'] as const;
export type ChannelKind = (typeof channelKinds)[number];

/** Severities of events, lowest first. */
export const severities = ['info', 'warning', 'error'] as const;
export type Severity = (typeof severities)[number];

/**
 * Restricts the events that a channel receives. An event is sent only if all fields of the filter that are set match
 * it.
 */
export interface ChannelFilter {
  /** Only events of runs, questions and schedules of these workflows. */
  workflowIds?: string[];
  /** Only events of machines with one of these labels, and of runs on them. */
  labels?: string[];
  /** Only events of at least this severity. */
  severity?: Severity;
}

/** Why the service turned an endpoint off: it responded 410, or every attempt failed for five days. */
export const turnedOffReasons = ['gone', 'failing'] as const;
export type TurnedOffReason = (typeof turnedOffReasons)[number];
