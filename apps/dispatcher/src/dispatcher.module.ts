import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { JobsModule } from '@muster/jobs';
import { VaultModule } from '@muster/vault';
import { AgentLoops } from './agent-loops';
import { DispatchLoops } from './dispatch-loops';
import { DispatchProcessor } from './dispatch.processor';
import { AgentsModule, MachinesModule, ReaperModule } from '@muster/agents';
import { MachineLoops } from './machine-loops';
import { ReaperLoop } from './reaper-loop';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule, AgentsModule, MachinesModule, ReaperModule, JobsModule],
  providers: [DispatchProcessor, DispatchLoops, AgentLoops, MachineLoops, ReaperLoop],
})
export class DispatcherModule {}
