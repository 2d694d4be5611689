import { type MachineDescription, MachineError, type MachineProvider } from '../machine';

/** Provider of existing local agents if the service no longer allows them. They can only be stopped and terminated. */
export class NoLocalMachines implements MachineProvider {
  describe(): Promise<MachineDescription> {
    return Promise.resolve({ state: 'gone', ip: null });
  }

  start(): Promise<void> {
    return rejectLocalAgents();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  reboot(): Promise<void> {
    return rejectLocalAgents();
  }

  terminate(): Promise<void> {
    return Promise.resolve();
  }
}

function rejectLocalAgents(): Promise<never> {
  return Promise.reject(
    new MachineError(
      'not_supported',
      'This service does not allow local agents. Its operator can allow them with LOCAL_AGENTS=true.',
    ),
  );
}
