import { Module } from '@nestjs/common';
import { AccessModule, IdentityProviders, Passwords, TxtRecords } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { ModelsModule } from '@muster/models';
import { StorageModule } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { VmModule } from '@muster/vm';
import { AlertRulesController } from './alerts/alert-rules.controller';
import { AlertsController } from './alerts/alerts.controller';
import { ClientPricingController } from './admin/client-pricing.controller';
import { FeedbackExportController } from './admin/feedback-export.controller';
import { FeedbackSyncController } from './admin/feedback-sync.controller';
import { OrganizationsController } from './admin/organizations.controller';
import { LoopsController } from './admin/loops.controller';
import { AdminUsageController } from './admin/usage.controller';
import { QueuesController } from './admin/queues.controller';
import { AgentCommandsController } from './agents/agent-commands.controller';
import { AgentDrainController } from './agents/agent-drain.controller';
import { AgentScriptController } from './agents/agent-script.controller';
import { AgentActionsController } from './agents/agent-actions.controller';
import { AgentsController } from './agents/agents.controller';
import { ArtifactsController } from './agents/artifacts.controller';
import { FunctionsController } from './agents/functions.controller';
import { ImagingImagesController } from './agents/imaging-images.controller';
import { RecordingsController } from './agents/recordings.controller';
import { AutopilotEventsController } from './assistant/autopilot-events.controller';
import { AutopilotSessionsController } from './assistant/autopilot-sessions.controller';
import { AutopilotController } from './assistant/autopilot.controller';
import { streamHubs } from './agents/stream-hubs.provider';
import { TimelineController } from './agents/timeline.controller';
import { AssistantParts } from './assistant/assistant-parts';
import { ChatController } from './assistant/chat.controller';
import { VideoAnalysesController } from './assistant/video-analyses.controller';
import { ManageController } from './assistant/manage.controller';
import { ImagingCompositeController } from './imaging/imaging-composite.controller';
import { AgentRunsController } from './jobs/agent-runs.controller';
import { BatchesController } from './jobs/batches.controller';
import { AccountsController } from './jobs/accounts.controller';
import { ConcurrencyKeysController } from './jobs/concurrency-keys.controller';
import { InboundCodesController } from './organization/inbound-codes.controller';
import { JobsController } from './jobs/jobs.controller';
import { QuestionsController } from './jobs/questions.controller';
import { ScreensController } from './jobs/screens.controller';
import { JobSummariesController } from './jobs/job-summaries.controller';
import { JobsExportController } from './jobs/jobs-export.controller';
import { DraftsController } from './packs/drafts.controller';
import { InstallationsController } from './packs/installations.controller';
import { PacksController } from './packs/packs.controller';
import { ProcessLibraryController } from './packs/process-library.controller';
import { VersionsController } from './packs/versions.controller';
import { PilotBatchesController } from './pilot/pilot-batches.controller';
import { SessionsController } from './pilot/sessions.controller';
import { RoiController } from './pilot/roi.controller';
import { SchedulesController } from './schedules/schedules.controller';
import { CostsController } from './pricing/costs.controller';
import { ModelPricesController } from './pricing/model-prices.controller';
import { UsageController } from './usage/usage.controller';
import { WorkerRoutes } from './worker/worker.routes';
import { WorkflowsController } from './workflows/workflows.controller';
import { NotificationChannelsController } from './webhooks/notification-channels.controller';
import { WebhookDeliveriesController } from './webhooks/webhook-deliveries.controller';
import { WebhookEndpointsController } from './webhooks/webhook-endpoints.controller';
import { AuthController } from './auth/auth.controller';
import { ForgottenPasswordsController } from './auth/forgotten-passwords.controller';
import { ResetRequests } from './auth/reset-requests';
import { AnswerLinks } from './answer-links/answer-links';
import { AnswerLinksController } from './answer-links/answer-links.controller';
import { AnswerPageRoutes } from './answer-links/answer-page.routes';
import { DeviceController } from './auth/device.controller';
import { PasskeysController } from './auth/passkeys.controller';
import { SecondFactorController } from './auth/second-factor.controller';
import { SsoController } from './auth/sso.controller';
import { Bootstrap } from './bootstrap';
import { ConsoleFiles } from './console/console-files';
import { ConsoleRoutes } from './console/console.routes';
import { DocsController } from './docs/docs.controller';
import { FeedbackSubmissionsController } from './feedback/feedback-submissions.controller';
import { HealthController } from './health/health.controller';
import { ServiceStatus } from './health/service-status';
import { StatusPageRoutes } from './health/status-page.routes';
import { ApiKeysController } from './organization/api-keys.controller';
import { AccessLogController } from './organization/access-log.controller';
import { AuditController } from './organization/audit.controller';
import { DeadLettersController } from './organization/dead-letters.controller';
import { EventsController } from './organization/events.controller';
import { ObjectsRoutes } from './objects/objects.routes';
import { OrganizationModelController } from './organization/organization-model.controller';
import { InvitationsController } from './organization/invitations.controller';
import { OrganizationController } from './organization/organization.controller';
import { RolesController } from './organization/roles.controller';
import { OrganizationSsoController } from './organization/sso.controller';
import { ScimTokenController } from './organization/scim-token.controller';
import { ScimGroupsController } from './scim/scim-groups.controller';
import { ScimServiceController } from './scim/scim-service.controller';
import { ScimUsersController } from './scim/scim-users.controller';
import { UsersController } from './organization/users.controller';
import { VaultController } from './organization/vault.controller';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule, VmModule, StorageModule, ModelsModule],
  controllers: [
    HealthController,
    AuthController,
    ForgottenPasswordsController,
    AnswerLinksController,
    DeviceController,
    PasskeysController,
    SecondFactorController,
    SsoController,
    OrganizationController,
    OrganizationModelController,
    OrganizationSsoController,
    ScimTokenController,
    ScimServiceController,
    ScimUsersController,
    ScimGroupsController,
    UsersController,
    RolesController,
    InvitationsController,
    ApiKeysController,
    VaultController,
    AccessLogController,
    AuditController,
    DeadLettersController,
    EventsController,
    OrganizationsController,
    ClientPricingController,
    LoopsController,
    AdminUsageController,
    QueuesController,
    AgentsController,
    AgentActionsController,
    AgentDrainController,
    AgentCommandsController,
    AgentScriptController,
    FunctionsController,
    ImagingCompositeController,
    RecordingsController,
    ImagingImagesController,
    ArtifactsController,
    TimelineController,
    ManageController,
    AutopilotController,
    AutopilotEventsController,
    AutopilotSessionsController,
    ChatController,
    VideoAnalysesController,
    JobsExportController,
    JobSummariesController,
    JobsController,
    QuestionsController,
    ScreensController,
    AccountsController,
    ConcurrencyKeysController,
    InboundCodesController,
    BatchesController,
    AgentRunsController,
    PilotBatchesController,
    SessionsController,
    RoiController,
    UsageController,
    CostsController,
    ModelPricesController,
    WorkflowsController,
    SchedulesController,
    FeedbackSubmissionsController,
    FeedbackExportController,
    FeedbackSyncController,
    ProcessLibraryController,
    PacksController,
    DraftsController,
    VersionsController,
    InstallationsController,
    WebhookEndpointsController,
    NotificationChannelsController,
    WebhookDeliveriesController,
    AlertRulesController,
    AlertsController,
    DocsController,
  ],
  providers: [
    Passwords,
    IdentityProviders,
    TxtRecords,
    ResetRequests,
    ServiceStatus,
    StatusPageRoutes,
    Bootstrap,
    ObjectsRoutes,
    { provide: ConsoleFiles, useFactory: () => new ConsoleFiles() },
    ConsoleRoutes,
    AnswerLinks,
    AnswerPageRoutes,
    WorkerRoutes,
    ...streamHubs,
    AssistantParts,
  ],
})
export class GatewayModule {}
