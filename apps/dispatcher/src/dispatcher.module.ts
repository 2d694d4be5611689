import { Module } from '@nestjs/common';
import { Autopilot } from '@muster/assistant';
import { StorageModule } from '@muster/storage';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { JobsModule } from '@muster/jobs';
import { ModelsModule } from '@muster/models';
import { VaultModule } from '@muster/vault';
import { AutopilotProcessor } from './autopilot.processor';
import { DispatchProcessor } from './dispatch.processor';
import { CommandsModule } from '@muster/commands';
import { MachinesModule, ReaperModule } from '@muster/machines';
import { DispatcherLoops } from './dispatcher-loops';
import { AnalysisContext } from './analysis-context';
import { LocalWorkers } from './local-workers';

@Module({
  imports: [
    DatabaseModule,
    AccessModule,
    VaultModule,
    CommandsModule,
    MachinesModule,
    ReaperModule,
    JobsModule,
    ModelsModule,
    StorageModule,
  ],
  providers: [DispatchProcessor, AutopilotProcessor, Autopilot, DispatcherLoops, AnalysisContext, LocalWorkers],
})
export class DispatcherModule {}
