import { Module } from '@nestjs/common';
import { AccessModule, Passwords } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { StorageModule } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { VmModule } from '@muster/vm';
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
import { RecordingsController } from './agents/recordings.controller';
import { timelineHub } from './agents/timeline-hub.provider';
import { TimelineController } from './agents/timeline.controller';
import { AgentRunsController } from './jobs/agent-runs.controller';
import { BatchesController } from './jobs/batches.controller';
import { JobsController } from './jobs/jobs.controller';
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
import { WorkflowsController } from './workflows/workflows.controller';
import { AuthController } from './auth/auth.controller';
import { Bootstrap } from './bootstrap';
import { DocsController } from './docs/docs.controller';
import { FeedbackSubmissionsController } from './feedback/feedback-submissions.controller';
import { HealthController } from './health/health.controller';
import { ApiKeysController } from './organization/api-keys.controller';
import { AuditController } from './organization/audit.controller';
import { ObjectsRoutes } from './objects/objects.routes';
import { OrganizationController } from './organization/organization.controller';
import { UsersController } from './organization/users.controller';
import { VaultController } from './organization/vault.controller';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule, VmModule, StorageModule],
  controllers: [
    HealthController,
    AuthController,
    OrganizationController,
    UsersController,
    ApiKeysController,
    VaultController,
    AuditController,
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
    RecordingsController,
    ArtifactsController,
    TimelineController,
    JobsController,
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
    DocsController,
  ],
  providers: [Passwords, Bootstrap, ObjectsRoutes, timelineHub],
})
export class GatewayModule {}
