import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { JobsModule } from '@muster/jobs';
import { VaultModule } from '@muster/vault';
import { AgentLoops } from './agent-loops';
import { DispatchLoops } from './dispatch-loops';
import { DispatchProcessor } from './dispatch.processor';
import { AgentsModule, MachinesModule } from '@muster/agents';
import { MachineLoops } from './machine-loops';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule, AgentsModule, MachinesModule, JobsModule],
  providers: [DispatchProcessor, DispatchLoops, AgentLoops, MachineLoops],
})
export class DispatcherModule {}
