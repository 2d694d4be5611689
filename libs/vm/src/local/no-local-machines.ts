import { type MachineDescription, MachineError, type MachineProvider } from '../machine';

/** What becomes of local agents where the service has none any more: they can be ended, and nothing else. */
export class NoLocalMachines implements MachineProvider {
  describe(): Promise<MachineDescription> {
    return Promise.resolve({ state: 'gone', ip: null });
  }

  start(): Promise<void> {
    return refuse();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  reboot(): Promise<void> {
    return refuse();
  }

  terminate(): Promise<void> {
    return Promise.resolve();
  }
}

function refuse(): Promise<never> {
  return Promise.reject(new MachineError('not_supported', 'This service has no local agents.'));
}
