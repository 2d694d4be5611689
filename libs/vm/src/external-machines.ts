import { type Machine, type MachineDescription, MachineError, type MachineProvider } from './machine';

/** A machine that the service cannot start or stop. Its worker only reports to the service. */
export class ExternalMachines implements MachineProvider {
  describe(_machine: Machine): Promise<MachineDescription> {
    return Promise.resolve({ state: 'unknown', ip: null });
  }

  start(): Promise<void> {
    return refuse('started');
  }

  stop(): Promise<void> {
    return refuse('stopped');
  }

  reboot(): Promise<void> {
    return refuse('rebooted');
  }

  terminate(): Promise<void> {
    return refuse('terminated');
  }
}

function refuse(action: string): Promise<never> {
  return Promise.reject(new MachineError('not_supported', `An external machine cannot be ${action} by this service.`));
}
