import { Inject, Injectable } from '@nestjs/common';
import type { AgentProvider } from '@muster/contracts';
import { Outbound } from '@muster/platform';
import { ExternalMachines } from './external-machines';
import { HttpMachines } from './http-machines';
import { LocalMachines } from './local/local-machines';
import { type Machine, type MachineDescription, MachineError, type MachineProvider } from './machine';

/** The providers that this service has, by their names. */
@Injectable()
export class Machines {
  private readonly providers: Partial<Record<AgentProvider, MachineProvider>>;

  constructor(
    @Inject(LocalMachines) readonly local: LocalMachines,
    @Inject(Outbound) outbound: Outbound,
  ) {
    this.providers = { local, external: new ExternalMachines(), http: new HttpMachines(outbound) };
  }

  /** A name that nobody answers to has a provider too: one that says so. */
  of(provider: string): MachineProvider {
    return this.providers[provider as AgentProvider] ?? new MissingProvider(provider);
  }
}

class MissingProvider implements MachineProvider {
  constructor(private readonly name: string) {}

  describe(_machine: Machine): Promise<MachineDescription> {
    return this.refuse();
  }

  start(): Promise<void> {
    return this.refuse();
  }

  stop(): Promise<void> {
    return this.refuse();
  }

  reboot(): Promise<void> {
    return this.refuse();
  }

  terminate(): Promise<void> {
    return this.refuse();
  }

  private refuse(): Promise<never> {
    return Promise.reject(
      new MachineError('not_supported', `This service has no machine provider of the name ${this.name}.`),
    );
  }
}
