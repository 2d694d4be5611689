import { OrganizationEventEntity } from './organization-event';
import {
  AccessEntryEntity,
  ApiKeyEntity,
  AuditEntryEntity,
  DeviceLoginEntity,
  IdempotencyKeyEntity,
  PasskeyChallengeEntity,
  PasskeyEntity,
  SecondFactorEntity,
  SessionEntity,
  SignInAddressEntity,
  SignInTicketEntity,
  UserEntity,
  ValueKeyEntity,
  VaultSecretEntity,
} from './access';
import { AccountLinkEntity } from './account-link';
import { OwnRoleEntity } from './own-role';
import { AuditChainEntity, AuditDayEntity, AuditLinkEntity } from './audit-chain';
import { AgentEntity } from './agent';
import { AlertEntity, AlertRuleEntity, AlertStreakEntity } from './alert';
import { AgentIdleEntity } from './agent-idle';
import { AgentRecoveryEntity } from './agent-recovery';
import { AgentCommandEntity, AgentControlEntity, AgentFunctionEntity, AgentWakeEntity } from './agent-work';
import {
  AutopilotAttemptEntity,
  AutopilotEventEntity,
  AutopilotLessonEntity,
  AutopilotSessionEntity,
  AutopilotStepEntity,
} from './autopilot';
import { BatchEntity } from './batch';
import { ChatCallEntity, ChatSessionEntity, ChatTurnEntity } from './chat';
import { BillingMetricEntity, BillingMetricStepEntity, ClientPricingModelEntity } from './client-pricing';
import { DeletedJobEntity, ObjectRemovalEntity } from './deleted-job';
import { AiUsageEntity, ArtifactEntity, ClaimOutcomeEntity, JobEntity, JobLogSeenEntity, JobStepEntity } from './job';
import { FeedbackStatusChangeEntity, FeedbackSubmissionEntity } from './feedback';
import {
  FeedbackDeliveryEntity,
  FeedbackLinkEntity,
  FeedbackReconciliationEntity,
  FeedbackTrackerEntity,
  FeedbackWorkItemEntity,
} from './feedback-work';
import { LoopRunEntity } from './loop-run';
import { RecoveryHoldEntity } from './recovery-hold';
import { MachineFindingEntity } from './machine-finding';
import { ModelCallEntity, OrganizationModelEntity } from './model-call';
import { CostRecomputeEntity, DefaultModelPriceEntity, DefaultPriceListEntity, ModelPriceEntity } from './model-price';
import { OrganizationEntity, OrganizationSettingsEntity } from './organization';
import { OutboxEntity, QueueProbeEntity } from './outbox';
import {
  LibraryProcessEntity,
  PackBundleEntity,
  PackUploadEntity,
  PackVersionEntity,
  PackVersionMoveEntity,
  RuntimeBundleEntity,
  WorkflowPackEntity,
} from './pack';
import { PackInstallationEntity, PackInstallationMoveEntity } from './pack-installation';
import {
  PilotBatchEntity,
  PilotClaimResultEntity,
  PilotStopEventEntity,
  SessionSummaryEntity,
  SessionTimelineEntity,
} from './pilot';
import {
  PilotRoiChangeEntity,
  PilotRoiCostEntity,
  PilotRoiDayEntity,
  PilotRoiMetricEntity,
  PilotRoiStateEntity,
  PilotRoiTimesEntity,
} from './pilot-roi';
import { AccountEntity, AccountUseEntity } from './account';
import { ConcurrencyLeaseEntity } from './concurrency-lease';
import { ConcurrencyLimitEntity } from './concurrency-limit';
import { InboundCodeEntity, InboundMessageEntity } from './inbound-code';
import { QuestionEntity } from './question';
import { RecordingEntity } from './recording';
import { RunCostChangeEntity, RunCostDayEntity, RunCostMonthEntity, RunCostStateEntity } from './run-cost-rollup';
import { ScheduleEntity, ScheduleRunEntity } from './schedule';
import { ScimGroupEntity, ScimGroupMemberEntity, ScimTokenEntity, ScimUserEntity } from './scim';
import { OrganizationDomainEntity, OrganizationSsoEntity, SsoLinkEntity, SsoSignInEntity } from './sso';
import { TimelineEntryEntity, TimelineHeadEntity } from './timeline';
import {
  LimitNoticeEntity,
  RunCostComponentEntity,
  RunCostEntity,
  UsageCounterEntity,
  UsageEventEntity,
  UsageReconciliationEntity,
} from './usage';
import { FilmUploadEntity, VideoAnalysisEntity, VideoAnswerEntity } from './video-analysis';
import {
  WebhookAttemptEntity,
  WebhookDeliveryEntity,
  WebhookEndpointEntity,
  WebhookEventEntity,
  WebhookSecretEntity,
} from './webhook';
import { WorkflowEntity, WorkflowRevisionEntity } from './workflow';

export const entities = [
  AgentCommandEntity,
  AgentControlEntity,
  AgentEntity,
  AgentFunctionEntity,
  AgentIdleEntity,
  AgentWakeEntity,
  AiUsageEntity,
  ApiKeyEntity,
  ArtifactEntity,
  AuditEntryEntity,
  AutopilotAttemptEntity,
  AutopilotEventEntity,
  AutopilotLessonEntity,
  AutopilotSessionEntity,
  AutopilotStepEntity,
  BatchEntity,
  BillingMetricEntity,
  BillingMetricStepEntity,
  ClaimOutcomeEntity,
  ChatCallEntity,
  ChatSessionEntity,
  ChatTurnEntity,
  ClientPricingModelEntity,
  DeletedJobEntity,
  CostRecomputeEntity,
  DefaultModelPriceEntity,
  DefaultPriceListEntity,
  FilmUploadEntity,
  FeedbackDeliveryEntity,
  FeedbackLinkEntity,
  FeedbackReconciliationEntity,
  FeedbackStatusChangeEntity,
  FeedbackSubmissionEntity,
  FeedbackTrackerEntity,
  FeedbackWorkItemEntity,
  IdempotencyKeyEntity,
  JobEntity,
  JobLogSeenEntity,
  JobStepEntity,
  LibraryProcessEntity,
  LoopRunEntity,
  MachineFindingEntity,
  ObjectRemovalEntity,
  ModelCallEntity,
  ModelPriceEntity,
  OrganizationEntity,
  OrganizationModelEntity,
  OrganizationSettingsEntity,
  OrganizationDomainEntity,
  OrganizationSsoEntity,
  OutboxEntity,
  PackBundleEntity,
  PackInstallationEntity,
  PackInstallationMoveEntity,
  OrganizationEventEntity,
  PackUploadEntity,
  PackVersionEntity,
  PackVersionMoveEntity,
  PilotBatchEntity,
  PilotClaimResultEntity,
  PilotStopEventEntity,
  PilotRoiChangeEntity,
  PilotRoiCostEntity,
  PilotRoiDayEntity,
  PilotRoiMetricEntity,
  PilotRoiStateEntity,
  PilotRoiTimesEntity,
  QueueProbeEntity,
  AgentRecoveryEntity,
  RecordingEntity,
  RunCostChangeEntity,
  RunCostComponentEntity,
  AccountEntity,
  AccountUseEntity,
  ConcurrencyLeaseEntity,
  ConcurrencyLimitEntity,
  InboundCodeEntity,
  InboundMessageEntity,
  QuestionEntity,
  AlertEntity,
  AlertRuleEntity,
  AlertStreakEntity,
  RunCostDayEntity,
  RunCostMonthEntity,
  RecoveryHoldEntity,
  RunCostStateEntity,
  RunCostEntity,
  RuntimeBundleEntity,
  ScheduleEntity,
  ScheduleRunEntity,
  AccessEntryEntity,
  AccountLinkEntity,
  OwnRoleEntity,
  AuditChainEntity,
  AuditDayEntity,
  AuditLinkEntity,
  DeviceLoginEntity,
  PasskeyChallengeEntity,
  PasskeyEntity,
  SecondFactorEntity,
  SessionEntity,
  SessionSummaryEntity,
  SessionTimelineEntity,
  SignInAddressEntity,
  SignInTicketEntity,
  SsoLinkEntity,
  SsoSignInEntity,
  ScimTokenEntity,
  ScimUserEntity,
  ScimGroupEntity,
  ScimGroupMemberEntity,
  TimelineEntryEntity,
  TimelineHeadEntity,
  LimitNoticeEntity,
  UsageCounterEntity,
  UsageEventEntity,
  UsageReconciliationEntity,
  UserEntity,
  ValueKeyEntity,
  VaultSecretEntity,
  VideoAnalysisEntity,
  VideoAnswerEntity,
  WebhookAttemptEntity,
  WebhookDeliveryEntity,
  WebhookEndpointEntity,
  WebhookEventEntity,
  WebhookSecretEntity,
  WorkflowEntity,
  WorkflowPackEntity,
  WorkflowRevisionEntity,
];
