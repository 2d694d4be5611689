export { endWorkers } from './local/end-workers';
export { explainMissingConfinement } from './local/read-confinement-input';
export { type LocalAgents, WorkerSupervision } from './local/worker-supervision';
export {
  type ListedMachine,
  type Machine,
  type MachineDescription,
  MachineError,
  type MachineProvider,
  type MachineState,
} from './machine';
export { Machines } from './machines';
export { VmConfig } from './vm.config';
export { VmModule } from './vm.module';
