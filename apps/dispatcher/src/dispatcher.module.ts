import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { JobsModule } from '@muster/jobs';
import { VaultModule } from '@muster/vault';
import { DispatchProcessor } from './dispatch.processor';
import { AgentsModule, MachinesModule, ReaperModule } from '@muster/agents';
import { DispatcherLoops } from './dispatcher-loops';
import { LocalWorkers } from './local-workers';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule, AgentsModule, MachinesModule, ReaperModule, JobsModule],
  providers: [DispatchProcessor, DispatcherLoops, LocalWorkers],
})
export class DispatcherModule {}
