import {
  ApiKeyEntity,
  AuditEntryEntity,
  IdempotencyKeyEntity,
  SessionEntity,
  SignInAddressEntity,
  UserEntity,
  VaultSecretEntity,
} from './access';
import { AgentEntity } from './agent';
import { AgentIdleEntity } from './agent-idle';
import { AgentRecoveryEntity } from './agent-recovery';
import { AgentCommandEntity, AgentControlEntity, AgentFunctionEntity, AgentWakeEntity } from './agent-work';
import { BatchEntity } from './batch';
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
import { MachineFindingEntity } from './machine-finding';
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
import { RecordingEntity } from './recording';
import { RunCostChangeEntity, RunCostDayEntity, RunCostStateEntity } from './run-cost-rollup';
import { ScheduleEntity, ScheduleRunEntity } from './schedule';
import { TimelineEntryEntity, TimelineHeadEntity } from './timeline';
import {
  RunCostComponentEntity,
  RunCostEntity,
  UsageCounterEntity,
  UsageEventEntity,
  UsageReconciliationEntity,
} from './usage';
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
  BatchEntity,
  BillingMetricEntity,
  BillingMetricStepEntity,
  ClaimOutcomeEntity,
  ClientPricingModelEntity,
  DeletedJobEntity,
  CostRecomputeEntity,
  DefaultModelPriceEntity,
  DefaultPriceListEntity,
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
  ModelPriceEntity,
  OrganizationEntity,
  OrganizationSettingsEntity,
  OutboxEntity,
  PackBundleEntity,
  PackInstallationEntity,
  PackInstallationMoveEntity,
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
  RunCostDayEntity,
  RunCostStateEntity,
  RunCostEntity,
  RuntimeBundleEntity,
  ScheduleEntity,
  ScheduleRunEntity,
  SessionEntity,
  SessionSummaryEntity,
  SessionTimelineEntity,
  SignInAddressEntity,
  TimelineEntryEntity,
  TimelineHeadEntity,
  UsageCounterEntity,
  UsageEventEntity,
  UsageReconciliationEntity,
  UserEntity,
  VaultSecretEntity,
  WorkflowEntity,
  WorkflowPackEntity,
  WorkflowRevisionEntity,
];
