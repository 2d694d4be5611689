// Enum values and helpers of the API that the console shares with the services. The files imported here contain no
// classes, so the browser downloads only these lists.
export {
  type AgentStatus,
  agentStatuses,
  commandKinds,
  recordingStatuses,
  timelineKinds,
} from './http/agents/agent-words';
export { type AlertRuleName, alertTitles, runFailedModes } from './http/asking/alert-words';
export { sessionStatuses } from './http/assistant/autopilot-words';
export {
  feedbackSeverities,
  type FeedbackStatus,
  feedbackStatuses,
  type FeedbackType,
  feedbackTypes,
} from './http/feedback/feedback-words';
export { isTerminalStatus, type JobStatus, jobStatuses, logLevels, type StepStatus } from './http/jobs/job-status';
export { type RunErrorCode, runErrorCodes } from './http/jobs/run-error-codes';
export {
  isInstallableStage,
  type PackStage,
  getPermissionForStage,
  allowedStageChanges,
} from './http/packs/pack-words';
export {
  type ChannelKind,
  channelKinds,
  deliveryStatuses,
  severities,
  webhookTypes,
} from './http/webhooks/webhook-words';
export { permissionLabels } from './http/permission-labels';
export { listPermissions, type Permission } from './http/permissions';
export { organizationRoles } from './http/roles';
