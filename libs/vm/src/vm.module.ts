import { resolve } from 'node:path';
import { Module } from '@nestjs/common';
import { getOwnAddress, processEnvironment } from '@muster/platform';
import { readConfinementInput } from './local/read-confinement-input';
import { LocalMachines } from './local/local-machines';
import { WorkerSupervision } from './local/worker-supervision';
import { Machines } from './machines';
import { VmConfig } from './vm.config';

@Module({
  providers: [
    Machines,
    {
      provide: LocalMachines,
      inject: [VmConfig],
      useFactory: ({ localAgentsDir }: VmConfig) => new LocalMachines(resolve(localAgentsDir)),
    },
    {
      provide: WorkerSupervision,
      inject: [LocalMachines, VmConfig],
      useFactory: (machines: LocalMachines, config: VmConfig) =>
        new WorkerSupervision({
          enabled: config.localAgents,
          machines,
          serviceUrl: config.localServiceUrl ?? getOwnAddress(config),
          ...readConfinementInput(machines.root, processEnvironment, config.localWorkerProgram),
        }),
    },
  ],
  exports: [Machines, WorkerSupervision],
})
export class VmModule {}
