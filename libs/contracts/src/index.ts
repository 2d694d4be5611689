export { errorTable, type ErrorCode, toWireCode } from './errors/error-table';
export { errorMeanings } from './errors/error-meanings';
export {
  AppError,
  type AppErrorOptions,
  type FieldError,
  invalidFieldError,
  notFoundError,
  agentNotFoundError,
} from './errors/app-error';
export { type AppName, type ServiceApp, serviceApps } from './http/apps';
export { AutopilotTask, TaskExpectation, TaskStep, TaskSuccess } from './http/assistant/autopilot-task';
export {
  AttemptUsage,
  AutopilotAnswer,
  AutopilotBody,
  AutopilotEventsQuery,
  AutopilotQuery,
  AutopilotSession,
  AutopilotSessionList,
  AutopilotSessionsQuery,
  AutopilotSessionSummary,
  SessionAttempt,
  SessionEvent,
  SessionLimits,
  SessionMetrics,
  SessionPause,
  SessionStep,
  StepOverride,
  TaskPlan,
} from './http/assistant/autopilot';
export {
  type AttemptOutcome,
  type AutopilotAction,
  autopilotActions,
  type PauseReason,
  type SessionStatus,
  type SessionStepStatus,
  type StepStrategy,
  type SubmitPolicy,
  type TaskStepKind,
  taskStepKinds,
} from './http/assistant/autopilot-words';
export {
  AnyJsonField,
  BooleanField,
  DateTimeField,
  DayOrTimeField,
  EmailField,
  EnumField,
  IntField,
  JsonField,
  JsonListField,
  ListField,
  NumberField,
  ObjectField,
  QueryIntField,
  TextField,
  TextListField,
  TextMapField,
  UrlField,
  UuidField,
} from './http/fields';
export {
  BundleUploadBody,
  BundleUploadTicket,
  FinalizeUploadBody,
  ImportVersionForm,
  PackDraft,
  PutDraftBody,
} from './http/packs/drafts';
export {
  CreateInstallationBody,
  InstallationHistory,
  InstallationQuery,
  PackInstallationList,
  PinBody,
  RollbackAnswer,
  RollbackBody,
  UpdateInstallationBody,
} from './http/packs/installations';
export {
  EnsurePackBody,
  LibraryProcess,
  PackInstallation,
  PackVersion,
  PackVersionList,
  ProcessLibrary,
  PromoteVersionBody,
  PublishVersionBody,
  RuntimeBundle,
  PutProcessBody,
  UpdatePackBody,
  VersionDiff,
  VersionDiffQuery,
  WorkflowPack,
  WorkflowPackList,
  WorkflowPackSummary,
  workerKeyPattern,
} from './http/packs/packs';
export {
  type BundleFaultReason,
  bundleFaultReasons,
  type InstallationMove,
  installationMoves,
  isInstallableStage,
  type PackStage,
  packStages,
  getPermissionForStage,
  allowedStageChanges,
} from './http/packs/pack-words';
export {
  unitsToDecimal,
  type MicroUsd,
  usdToMicros,
  usdToMicrosIfSet,
  divideRoundingHalfEven,
  sumMoney,
  microsToUsd,
  microsToUsdOrNull,
} from './money/money';
export {
  type FeedbackSeverity,
  feedbackSeverities,
  type FeedbackSource,
  type FeedbackStatus,
  type FeedbackType,
  type TrackerName,
  trackerNames,
} from './http/feedback/feedback-words';
export { FeedbackSync, FeedbackWebhookAnswer } from './http/feedback/feedback-sync';
export {
  BugReportPayload,
  FeatureRequestPayload,
  FeedbackAgentList,
  FeedbackExportQuery,
  FeedbackFilter,
  FeedbackForm,
  feedbackPayloads,
  FeedbackReceipt,
  FeedbackSubmission,
  FeedbackSubmissionDetail,
  FeedbackSubmissionList,
  UpdateFeedbackBody,
  WorkflowIssuePayload,
} from './http/feedback/submissions';
export {
  CreateWebhookEndpointBody,
  UpdateWebhookEndpointBody,
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryDetail,
  WebhookDeliveryList,
  WebhookDeliveryQuery,
  WebhookEndpoint,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
  WebhookRedelivery,
  WebhookTestStarted,
} from './http/webhooks/webhook-endpoints';
export {
  ChannelTarget,
  CreateNotificationChannelBody,
  NotificationChannel,
  NotificationChannelList,
  NotificationChannelWithSecret,
  NotificationTestStarted,
  UpdateNotificationChannelBody,
} from './http/webhooks/notification-channels';
export {
  type ChannelFilter,
  type ChannelKind,
  channelKinds,
  type DeliveryStatus,
  deliveryStatuses,
  type MessageStatus,
  severities,
  type Severity,
  type TurnedOffReason,
  turnedOffReasons,
  type WebhookType,
  webhookTypes,
} from './http/webhooks/webhook-words';
export { listFieldNames, Faults, readFields } from './http/field-rules';
export { openApiDocument } from './http/openapi-document';
export { PageQuery, SearchQuery } from './http/pages';
export { findOwnerApp, type PathOwner, pathOwners, buildPathPattern } from './http/path-owners';
export { parseDay, parseTime } from './http/parse-time';
export { IgnoreUnknownFields, ignoresUnknownFields } from './http/unknown-fields';
export { BundleProblem, Problem, ProblemBundleFault, ProblemFieldError } from './http/problem';
export { maxDetailLength, maxFieldErrors, shortenText } from './http/shorten-text';
export { organizationRoles, type Role, roles } from './http/roles';
export {
  getLowestRole,
  hasPermission,
  hasPermissionsOf,
  isBuiltInRole,
  listPermissions,
  ownRolePermissions,
  type Permission,
  type RoleHolder,
} from './http/permissions';
export {
  ChangePasswordBody,
  EndedSessions,
  EnrolledIdentity,
  Identity,
  IdentityOrganization,
  IdentityRecovery,
  IdentityUser,
  LoginBody,
  OrganizationOverrideBody,
  OwnSecondFactor,
  RecoveryCodes,
  RemoveTotpBody,
  SecondFactorProof,
  Session,
  SessionList,
  type SignInNeed,
  SignInNeeds,
  SuccessAnswer,
  TicketBody,
  TicketCodeBody,
  TotpBeginBody,
  TotpConfirmBody,
  TotpEnrolment,
  TotpLoginBody,
} from './http/access/auth';
export {
  CreatePasskeyBody,
  Passkey,
  PasskeyCreationOptions,
  PasskeyList,
  PasskeyRequestOptions,
  PasskeySignInBody,
} from './http/access/passkeys';
export {
  AnswerDeviceLoginBody,
  BeginDeviceLoginBody,
  DeviceCodes,
  DeviceLogin,
  DeviceLoginQuery,
  DeviceToken,
  DeviceTokenBody,
} from './http/access/device';
export {
  ApiKey,
  ApiKeyList,
  ApiKeyParams,
  type ApiKeyRole,
  type ApiKeyScope,
  apiKeyScopes,
  CreateApiKeyBody,
  CreatedApiKey,
} from './http/access/api-keys';
export { CreateOwnRoleBody, maxOwnRoles, OwnRole, OwnRoleList, UpdateOwnRoleBody } from './http/access/own-roles';
export {
  AccessEntry,
  AccessLogExportQuery,
  AccessLogList,
  AccessLogQuery,
  AccessSubject,
  type ReadSubject,
  readSubjects,
} from './http/access/access-log';
export {
  type ActorKind,
  actorKinds,
  AuditActor,
  AuditEntry,
  AuditList,
  AuditProof,
  AuditProofQuery,
  AuditQuery,
  AuditTarget,
  LogProof,
} from './http/access/audit';
export {
  CreatedOrganization,
  CreateOrganizationBody,
  Organization,
  OrganizationList,
  UpdateOrganizationBody,
} from './http/access/organizations';
export {
  maxScimMembers,
  maxScimResults,
  NewScimToken,
  Scim,
  ScimDefinitionList,
  ScimGroup,
  ScimGroupBody,
  ScimGroupList,
  ScimListQuery,
  ScimOperation,
  ScimPatchBody,
  ScimReadQuery,
  scimSchemas,
  ScimServiceProviderConfig,
  ScimUser,
  ScimUserBody,
  ScimUserList,
} from './http/access/scim';
export { isEmailAddress } from './http/field-checks';
export { ProveDomainBody, PutSsoBody, Sso, SsoDomain, SsoStartQuery, SsoTest } from './http/access/sso';
export {
  type IdleStopPolicy,
  OrganizationSettings,
  SigningSecret,
  UpdateOrganizationSettingsBody,
} from './http/access/settings';
export {
  AcceptedInvitation,
  AcceptInvitationBody,
  CreateInvitationBody,
  ForgotAnswer,
  ForgotBody,
  Invitation,
  ResetPasswordBody,
} from './http/access/account-links';
export { passwordLength, CreateUserBody, UpdateUserBody, User, UserList } from './http/access/users';
export {
  PutSecretBody,
  checkVariableName,
  Secret,
  type SecretKind,
  SecretList,
  variableNamePattern,
} from './http/access/vault';
export {
  CreateInboundCodeBody,
  GatewayKeys,
  GivenTotp,
  GiveTotpBody,
  InboundCode,
  InboundCodeList,
  InboundCodeWithSecret,
  InboundMessage,
  InboundMessageList,
  InboundReceipt,
} from './http/asking/inbound-codes';
export {
  type AssistantTool,
  ChatAnswer,
  ChatBody,
  type ChatCallOutcome,
  ChatDoneEvent,
  ChatErrorEvent,
  ChatHistory,
  type ChatMessage,
  ChatQuery,
  ChatSessionEvent,
  ChatTokenEvent,
  type ChatToolCall,
  ChatToolCallEvent,
  ChatToolResultEvent,
  ChatUsage,
  ManageAnswer,
  ManageBody,
} from './http/assistant/chat';
export { IdleSavings } from './http/agents/idle-savings';
export { MachineTime, MachineTimeQuery, maxMachineTimeDays } from './http/agents/machine-time';
export {
  Agent,
  AgentList,
  AgentQuery,
  type AgentSort,
  CreateAgentBody,
  CreatedAgent,
  TerminateAgentQuery,
  UpdateAgentBody,
} from './http/agents/agents';
export { HandshakeAnswer, HandshakeBody, MachineCapability, type MachineRefusal } from './http/agents/machines';
export { type BootEnd, HeartbeatAnswer, HeartbeatBody, SetupStatusBody } from './http/agents/machines';
export {
  AgentCommand,
  AgentCommandList,
  AgentScript,
  AgentScriptBody,
  BuilderStarted,
  CommandEntry,
  CommandHistory,
  CommandOutputBody,
  CommandPollQuery,
  CommandQuery,
  CommandReceipt,
  CommandResultBody,
  CommandStarted,
  CommandStatus,
  CommandStatusQuery,
  RunBuilderBody,
  RunFunctionBody,
  RunSnippetBody,
  SnippetStatusQuery,
} from './http/agents/commands';
export {
  type AttemptStep,
  type CloseSession,
  type DoneAction,
  type InterruptedAttempt,
  type LookAtPage,
  type OpenSession,
  type PageExpectation,
  type PageLook,
  type PageLooked,
  type SelectorCandidate,
  type SelectorKind,
  selectorKinds,
  type SessionAction,
  type SessionActionName,
  sessionActions,
  type SessionClosed,
  type SessionFault,
  sessionFaults,
  type SessionOpened,
  type StepAttempted,
} from './http/agents/autopilot-commands';
export { ImagingCompositeBody, ImagingCompositeStatus } from './http/agents/imaging-composite';
export { AgentFunction, AgentFunctionList, CreateFunctionBody, UpdateFunctionBody } from './http/agents/functions';
export {
  ActivityAnswer,
  ActivityBody,
  type AgentAction,
  AgentActionAnswer,
  AgentActionBody,
  agentActions,
  AgentLiveStatus,
  DrainAnswer,
  DrainBody,
  IdleExemptAnswer,
  IdleExemptBody,
} from './http/agents/actions';
export { Artifact, ArtifactDetail, type ArtifactKind, ArtifactList, ArtifactQuery } from './http/agents/artifacts';
export {
  Recording,
  RecordingDetail,
  type RecordingKind,
  RecordingList,
  RecordingQuery,
} from './http/agents/recordings';
export { DownloadBody, DownloadTicket, UploadBody, UploadTicket } from './http/agents/uploads';
export {
  CommandProgressBody,
  CommandUploadObject,
  CommandUploads,
  CommandUploadsBody,
  CommandUploadTicket,
  ConvertedImage,
  ImagingImage,
  ImagingImagesBody,
  ImagingImagesOutput,
  ImagingImagesStatus,
  type ImagingObjectName,
} from './http/agents/imaging';
export { DeepHealth, Health, HealthCheck, HealthChecks } from './http/operations/health';
export { MaintenanceLoop, MaintenanceLoopList, StuckRow } from './http/operations/loops';
export {
  OrganizationAgentEvent,
  OrganizationBatchEvent,
  OrganizationDeadLetterEvent,
  OrganizationQuestionEvent,
  OrganizationAlertEvent,
  OrganizationEventsQuery,
  type OrganizationEventType,
  OrganizationJobEvent,
  OrganizationLimitEvent,
  OrganizationResyncEvent,
  OrganizationScheduleEvent,
  type OrganizationStreamEvent,
  type StreamEventType,
} from './http/events/organization-events';
export {
  DeadLetter,
  DeadLetterList,
  DeadLetterQuery,
  QueueProbe,
  QueueProbeList,
  QueueState,
  QueueStateList,
  RequestQueueProbesBody,
} from './http/operations/queues';
export {
  getJobDefinition,
  type JobDefinition,
  type JobName,
  type JobPayload,
  queueCatalogue,
  getQueueDefinition,
  type QueueDefinition,
  type QueueName,
  queueNames,
  type RetryPolicy,
} from './queues/catalogue';
export type { QueueMessage, MessageData, OutboxMessage } from './queues/queue-message';
export {
  AgentPayload,
  AnalysisPayload,
  BatchPayload,
  CommandPayload,
  EndpointPayload,
  JobPayloadIds,
  LinkPayload,
  OrganizationPayload,
  PilotBatchPayload,
  ProbePayload,
  RecomputePayload,
  SessionPayload,
  SubmissionPayload,
  WakePayload,
} from './queues/payloads';
export {
  type AgentProvider,
  agentProviders,
  type AgentStatus,
  agentStatuses,
  type CommandKind,
  commandKinds,
  type MachinePart,
  machineParts,
  type LifecycleEvent,
  lifecycleEvents,
  type LifecycleSource,
  lifecycleSources,
  type RecordingStatus,
  type TimelineKind,
  timelineKinds,
} from './http/agents/agent-words';
export {
  type CallbackReason,
  callbackReasons,
  type ClaimOutcome,
  claimOutcomes,
  type DeliveredKind,
  deliveredKinds,
  isTerminalStatus,
  type JobStatus,
  jobStatuses,
  type LogLevel,
  logLevels,
  openJobStatuses,
  type StepStatus,
  stepStatuses,
  type TerminalJobStatus,
  terminalJobStatuses,
  type WaitingReason,
  waitingReasons,
} from './http/jobs/job-status';
export {
  type AlertOptions,
  type AlertRuleName,
  alertRules,
  type AlertStatus,
  type AlertSubjectType,
  alertTitles,
  type RunFailedMode,
} from './http/asking/alert-words';
export { Alert, AlertList, AlertRule, AlertRuleList, AlertsQuery, SetAlertRuleBody } from './http/asking/alerts';
export { AnswerByLinkBody, AnswerLinkBody, LinkedQuestion } from './http/asking/answer-links';
export {
  AnswerQuestionBody,
  AskedQuestion,
  AskQuestionBody,
  AwaitAnswerQuery,
  DeclineQuestionBody,
  JobAsking,
  Question,
  QuestionAnswerer,
  QuestionForWorker,
  QuestionList,
  QuestionsQuery,
} from './http/asking/questions';
export {
  ScreenEnd,
  ScreenFrame,
  ScreenFrameTaken,
  ScreenInput,
  ScreenInputSent,
  ScreenWatch,
} from './http/asking/screen';
export {
  type AnswerWay,
  answerWays,
  codePattern,
  type QuestionKind,
  questionKinds,
  type QuestionStatus,
  questionStatuses,
  type ScreenKey,
} from './http/asking/question-words';
export { CancelJobBody, CancelJobsFilter, CancelJobsBody, CancelledJobs } from './http/jobs/cancels';
export { isScriptErrorCode, type RunErrorCode, runErrorCodes, type ScriptErrorCode } from './http/jobs/run-error-codes';
export {
  ChangedStep,
  CreateWorkflowBody,
  RevisionDiff,
  RevisionDiffQuery,
  SaveWorkflowBody,
  StepsDiff,
  UpdateWorkflowBody,
  UploadWorkflowBody,
  UploadWorkflowForm,
  VariablesDiff,
  ConfirmStepBody,
  Workflow,
  WorkflowList,
  WorkflowQuery,
  type WorkflowSort,
  WorkflowRevision,
  WorkflowRevisionList,
  WorkflowSummary,
} from './http/workflows/workflows';
export {
  Account,
  type AccountFailure,
  AccountList,
  AccountQuery,
  AccountRequest,
  type AccountStatus,
  AccountUseList,
  FailAccountBody,
  maxAccountsOfRun,
  PutAccountBody,
  UpdateAccountBody,
} from './http/jobs/accounts';
export {
  ConcurrencyKey,
  ConcurrencyKeyList,
  ConcurrencyKeyQuery,
  keyVariables,
  ConcurrencyLimit,
  KeyHolderList,
  SetConcurrencyLimitBody,
  WaitingDetail,
} from './http/jobs/concurrency-keys';
export {
  JobPlacement,
  JobTarget,
  type PlacementForecast,
  PlacementPreview,
  PlacementPreviewBody,
  RunTarget,
  type TargetPreference,
} from './http/jobs/targets';
export { LaunchJobBody } from './http/jobs/launches';
export { JobFilter, JobsExportQuery, type JobSort } from './http/jobs/job-filters';
export {
  Job,
  JobBundle,
  JobClaims,
  JobLack,
  JobList,
  JobLogsQuery,
  JobProgress,
  JobStatusAnswer,
  JobStatusQuery,
  JobStep,
  JobStepList,
  JobWaiting,
  LaunchedJob,
  RunList,
  RunListItem,
  RunOnAgentBody,
  RunOptions,
  StepQuery,
} from './http/jobs/jobs';
export {
  ActivityQuery,
  ActivityHour,
  FailureCause,
  FailureCauses,
  FailureQuery,
  JobActivity,
} from './http/jobs/job-summaries';
export {
  Batch,
  BatchList,
  BatchProgress,
  BatchQuery,
  type BatchSort,
  CancelBatchBody,
  CreateBatchBody,
  CheckBatchBody,
  CheckBatchForm,
  CheckedBatch,
  CreateBatchForm,
  CreatedBatch,
  maxBatchBytes,
  maxBatchRows,
  RejectedRow,
} from './http/jobs/batches';
export {
  CallbackAnswer,
  ClaimResult,
  ClaimResultsAnswer,
  ClaimResultsBody,
  JobLogEntry,
  JobLogsAnswer,
  JobLogsBody,
  JobWebhookAnswer,
  JobWebhookBody,
  StepStatusBody,
  StepUsage,
} from './http/jobs/callbacks';
export {
  clockShifts,
  CreateScheduleBody,
  DeleteScheduleQuery,
  ExecuteSchedulesBody,
  FailedTick,
  LaunchedTick,
  type MisfirePolicy,
  misfirePolicies,
  PreviewQuery,
  PreviewRun,
  PreviewScheduleBody,
  Schedule,
  ScheduleDetail,
  ScheduleList,
  SchedulePreview,
  ScheduleQuery,
  type ScheduleSort,
  ScheduleRun,
  ScheduleTicks,
  SkippedTick,
  type SkipReason,
  skipReasons,
  type TickOutcome,
  tickOutcomes,
  UpdateScheduleBody,
} from './http/schedules/schedules';
export {
  maxSummaryBytes,
  maxSummaryClaims,
  maxSummaryMetadataBytes,
  RunSummaryAnswer,
  RunSummaryBatch,
  RunSummaryBody,
  RunSummaryClaim,
  RunSummaryContent,
  RunSummaryStop,
  type SummaryShape,
} from './http/pilot/run-summary';
export {
  PilotBatch,
  PilotBatchDetail,
  PilotBatchList,
  PilotBatchParams,
  PilotBatchQuery,
  PilotClaimResult,
  PilotStopEvent,
} from './http/pilot/pilot-batches';
export {
  LibrarySession,
  LibrarySessionDetail,
  LibrarySessionList,
  SessionEntry,
  type SessionEntryKind,
  SessionQuery,
} from './http/pilot/sessions';
export { StaleJobs } from './http/jobs/stale-jobs';
export { CostRecompute, ModelPrice, type ModelPriceInput, ModelPriceList } from './http/pricing/model-prices';
export { PutModelPricesBody, RecomputeCostsBody } from './http/pricing/model-prices';
export { OrganizationModel, PutOrganizationModelBody } from './http/pricing/organization-model';
export { CostComponent, CostGroup, type CostGrouping, Costs, CostsQuery, JobCost } from './http/pricing/costs';
export { Usage, UsageLimits, UsageQuery } from './http/usage/usage';
export { AdminUsage, AdminUsageQuery, OrganizationUsage } from './http/usage/admin-usage';
export { UsageDifference, UsageReconciliation } from './http/usage/admin-usage';
export {
  BackfillAnswer,
  BackfillBody,
  BillingMetric,
  BillingMetricList,
  BillingMetricQuery,
  BillingMetricStep,
  BillingMetricStepList,
  ClientPricingModel,
  type PricingType,
} from './http/pricing/client-pricing';
export {
  AgentEventsQuery,
  AgentJobEvent,
  AgentLifecycleEvent,
  AgentLogEntry,
  AgentLogEvent,
  AgentLogList,
  AgentLogsQuery,
  AgentResyncEvent,
  AgentStatusEvent,
} from './http/agents/timeline';
export { Roi, RoiQuery, type RoiSource } from './http/pilot/roi';
export {
  FilmUpload,
  FilmUploadBody,
  VideoAnalysis,
  VideoAnalysisQuery,
  VideoAnalysisStarted,
  VideoAnalyzeBody,
} from './http/assistant/video-analysis';
export {
  isSealedValue,
  maskResult,
  maskVariables,
  type SealedValue,
  sealedMark,
  type StoredVariables,
} from './sealed-values';
