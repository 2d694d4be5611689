import { join, resolve } from 'node:path';
import { Module } from '@nestjs/common';
import { ownAddress, processEnvironment } from '@muster/platform';
import { LocalMachines } from './local/local-machines';
import { WorkerSupervision } from './local/worker-supervision';
import { Machines } from './machines';
import { VmConfig } from './vm.config';

/** What a worker and its scripts may know of the service's own environment. */
const passedOn = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'DISPLAY', 'SSL_CERT_FILE', 'PYTHON', 'CHROMIUM'];

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
          program: resolve(config.localWorkerProgram ?? join(__dirname, '../../../apps/worker/src/main.js')),
          serviceUrl: config.localServiceUrl ?? ownAddress(config),
          baseEnv: Object.fromEntries(
            passedOn.flatMap((name) => (processEnvironment[name] ? [[name, processEnvironment[name]]] : [])),
          ),
        }),
    },
  ],
  exports: [Machines, WorkerSupervision],
})
export class VmModule {}
