import { type Machine, type MachineDescription, MachineError, type MachineProvider } from './machine';

/** A machine that the service cannot start or stop. Its worker only reports to the service. */
export class ExternalMachines implements MachineProvider {
  describe(_machine: Machine): Promise<MachineDescription> {
    return Promise.resolve({ state: 'unknown', ip: null });
  }

  start(): Promise<void> {
    return rejectUnsupportedOrder('started');
  }

  stop(): Promise<void> {
    return rejectUnsupportedOrder('stopped');
  }

  reboot(): Promise<void> {
    return rejectUnsupportedOrder('rebooted');
  }

  terminate(): Promise<void> {
    return rejectUnsupportedOrder('terminated');
  }
}

function rejectUnsupportedOrder(action: string): Promise<never> {
  return Promise.reject(
    new MachineError(
      'not_supported',
      `The service cannot control an external machine, so the machine cannot be ${action}. Use the controls of the machine.`,
    ),
  );
}
