export { Muster, type MusterOptions } from './muster';
export { isMusterError, MusterError } from './muster-error';
export { List } from './list';
export type { AgentEvent, FollowOptions } from './follow-events';
export type { LogLine, LogOptions } from './follow-log';
export type { CallOptions } from './resource';
export { isTerminal, type WaitOptions } from './wait-for-job';
export { type SignedDelivery, verifyWebhook, type WebhookEvent } from './verify-webhook';
export type {
  Agent,
  Alert,
  AlertRule,
  Batch,
  CommandStatus,
  Costs,
  CreateAgentBody,
  CreateBatchBody,
  CreatedBatch,
  CreateScheduleBody,
  CreateWorkflowBody,
  Job,
  LaunchedJob,
  LaunchJobBody,
  PackDraft,
  PackInstallation,
  PackVersion,
  Problem,
  PutAccountBody,
  Question,
  Schedule,
  Usage,
  WebhookEndpoint,
  Workflow,
  WorkflowPack,
  WorkflowSummary,
} from './generated';
