export { acquireAdvisoryLock, tryAdvisoryLock } from './advisory-lock';
export { createOwnerDataSource, buildServiceConnectionOptions } from './data-source';
export { Database } from './database';
export { isDatabaseUnavailable, getViolatedConstraint } from './database-errors';
export { DatabaseModule } from './database.module';
export {
  type AccessEntryEntity,
  ApiKeyEntity,
  AuditEntryEntity,
  type DeviceLoginEntity,
  IdempotencyKeyEntity,
  PasskeyEntity,
  SecondFactorEntity,
  SessionEntity,
  SignInTicketEntity,
  UserEntity,
  ValueKeyEntity,
  VaultSecretEntity,
} from './entities/access';
export type { AccountLinkEntity } from './entities/account-link';
export type { ScimGroupEntity, ScimTokenEntity, ScimUserEntity } from './entities/scim';
export type { OrganizationDomainEntity, OrganizationSsoEntity, SsoLinkEntity, SsoSignInEntity } from './entities/sso';
export type { AuditChainEntity } from './entities/audit-chain';
export { AgentEntity } from './entities/agent';
export { AgentIdleEntity } from './entities/agent-idle';
export type { AgentRecoveryEntity } from './entities/agent-recovery';
export type {
  AgentCommandEntity,
  AgentControlEntity,
  AgentFunctionEntity,
  AgentWakeEntity,
} from './entities/agent-work';
export type {
  AutopilotAttemptEntity,
  AutopilotEnding,
  AutopilotEventEntity,
  AutopilotLessonEntity,
  AutopilotPause,
  AutopilotPhase,
  AutopilotSessionEntity,
  AutopilotStepEntity,
  HeldAttempt,
} from './entities/autopilot';
export type { BatchEntity } from './entities/batch';
export type { ChatCallEntity, ChatSessionEntity, ChatTurnEntity } from './entities/chat';
export { BillingMetricEntity, BillingMetricStepEntity, ClientPricingModelEntity } from './entities/client-pricing';
export type { DeletedJobEntity, ObjectRemovalEntity } from './entities/deleted-job';
export type { FeedbackStatusChangeEntity, FeedbackSubmissionEntity } from './entities/feedback';
export type {
  FeedbackLinkEntity,
  FeedbackReconciliationEntity,
  FeedbackTrackerEntity,
  FeedbackWorkItemEntity,
} from './entities/feedback-work';
export { JobEntity, type PlacedJob } from './entities/job';
export type { AccountEntity, AccountUseEntity } from './entities/account';
export type { ConcurrencyLeaseEntity } from './entities/concurrency-lease';
export type { AlertEntity, AlertRuleEntity, AlertStreakEntity } from './entities/alert';
export type { InboundCodeEntity, InboundMessageEntity } from './entities/inbound-code';
export type { QuestionEntity } from './entities/question';
export type { AiUsageEntity, ArtifactEntity, JobStepEntity } from './entities/job';
export type { MachineFindingEntity } from './entities/machine-finding';
export type { ModelCallEntity, OrganizationModelEntity } from './entities/model-call';
export type {
  LibraryProcessEntity,
  PackBundleEntity,
  PackUploadEntity,
  PackVersionEntity,
  PackVersionMoveEntity,
  RuntimeBundleEntity,
  WorkflowPackEntity,
} from './entities/pack';
export type { PackInstallationEntity, PackInstallationMoveEntity } from './entities/pack-installation';
export type {
  PilotRoiDayEntity,
  PilotRoiMetricEntity,
  PilotRoiStateEntity,
  PilotRoiTimesEntity,
} from './entities/pilot-roi';
export {
  PilotBatchEntity,
  PilotClaimResultEntity,
  PilotStopEventEntity,
  SessionSummaryEntity,
  SessionTimelineEntity,
} from './entities/pilot';
export type { RecordingEntity } from './entities/recording';
export { ScheduleEntity } from './entities/schedule';
export type { ScheduleRunEntity } from './entities/schedule';
export type { TimelineEntryEntity, TimelineHeadEntity } from './entities/timeline';
export {
  LimitNoticeEntity,
  RunCostComponentEntity,
  RunCostEntity,
  UsageCounterEntity,
  UsageReconciliationEntity,
} from './entities/usage';
export type { FilmUploadEntity, VideoAnalysisEntity, VideoAnswerEntity } from './entities/video-analysis';
export type {
  WebhookAttemptEntity,
  WebhookDeliveryEntity,
  WebhookEndpointEntity,
  WebhookEventEntity,
  WebhookSecretEntity,
} from './entities/webhook';
export { WorkflowEntity, WorkflowRevisionEntity } from './entities/workflow';
export { entities } from './entities';
export type { OrganizationEventEntity } from './entities/organization-event';
export {
  currentTransaction,
  purgeOrganizationEvents,
  recordOrganizationEvent,
} from './events/record-organization-event';
export { CostRecomputeEntity, ModelPriceEntity } from './entities/model-price';
export { OwnRoleEntity } from './entities/own-role';
export { OrganizationEntity, OrganizationSettingsEntity } from './entities/organization';
export { OutboxEntity, QueueProbeEntity } from './entities/outbox';
export { readRecoveryState, requireReleasedRecovery } from './recovery/recovery';
export { listLoopRuns } from './loops/loop-runs';
export {
  migrateDatabase,
  listPendingMigrations,
  filterUnknownMigrations,
  listUnknownMigrations,
} from './migrate-database';
export { migrations } from './migrations';
export { countOverdueMessages, type QueueBacklog, readBacklog } from './outbox/backlog';
export { discardDeadLetter, listDeadLetters, replayDeadLetter } from './outbox/dead-letters';
export {
  type Condition,
  insertFoundMessagesSql,
  messageColumns,
  createMessageWithValues,
} from './outbox/insert-messages';
export {
  answerQueueProbe,
  findQueueProbe,
  readLatestQueueProbes,
  listQueueProbes,
  purgeQueueProbes,
  requestQueueProbes,
} from './outbox/queue-probes';
export { sweepOutbox } from './outbox/sweep-outbox';
export { containsIgnoringCaseSql, foldCaseSql } from './fold-case';
export {
  rowsAfterPositionSql,
  sortKeyTextSql,
  orderedListSql,
  parseListOrder,
  getPositionValues,
} from './ordered-list';
export { limitPageSizeSql } from './page-within';
export { maxRowsLookedAt, scanRowsSql } from './scan-within';
export { dropPartitions, type ExpiredPartition } from './partitions/drop-partitions';
export { PostgresListener } from './postgres-listener';
export type { SharedStatement } from './sets/run-statements';
export type { Scope } from './transactions/scope';
export { buildStatementForRow, buildRowStatements } from './transactions/row-statement';
export type { RowStatement } from './transactions/statement-batch';
export { Transaction } from './transactions/transaction';
export { TakeTurn } from './transactions/turns';
export { rowsToColumns } from './transactions/transpose-rows';
