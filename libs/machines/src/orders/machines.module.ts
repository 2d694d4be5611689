import { Module } from '@nestjs/common';
import { VaultModule } from '@muster/vault';
import { VmModule } from '@muster/vm';
import { LocalAgentRows } from './local-agents';
import { MachineControl } from './machine-control';

/** Provides the access to machine providers for apps that switch machines on and off. */
@Module({
  imports: [VmModule, VaultModule],
  providers: [MachineControl, LocalAgentRows],
  exports: [VmModule, MachineControl, LocalAgentRows],
})
export class MachinesModule {}
