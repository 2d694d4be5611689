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
  'api_key.expiring',
  'pack.promoted',
  'installation.pinned',
  'autopilot.paused',
  'autopilot.finished',
  'feedback.resolved',
  'question.asked',
  'question.answered',
  'question.expired',
  'webhook.test',
] as const;
export type WebhookType = (typeof webhookTypes)[number];

/** Pending: it is still tried. Dead: it was tried for the last time. */
export const deliveryStatuses = ['pending', 'delivered', 'dead'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Of what goes to people also: it is being sent just now, and whether it arrived is not known, so it is not sent again. */
export const messageStatuses = ['pending', 'sending', 'delivered', 'dead', 'unclear'] as const;
export type MessageStatus = (typeof messageStatuses)[number];

/** What a channel is: a webhook is a program's, the others are people's. */
export const channelKinds = ['email', 'slack', 'teams', 'webhook'] as const;
export type ChannelKind = (typeof channelKinds)[number];

/** How much a fact matters, the least first. */
export const severities = ['info', 'warning', 'error'] as const;
export type Severity = (typeof severities)[number];

/** Which facts a channel gets of those that it wants. */
export interface ChannelFilter {
  /** Facts of runs, questions and schedules of these workflows alone. */
  workflowIds?: string[];
  /** Facts of machines, and of runs on machines, with one of these labels alone. */
  labels?: string[];
  /** Facts that matter so much at least. */
  severity?: Severity;
}

/** Why the service turned an endpoint off: it said 410, or for five days nothing reached it. */
export const turnedOffReasons = ['gone', 'failing'] as const;
export type TurnedOffReason = (typeof turnedOffReasons)[number];
