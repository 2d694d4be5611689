import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { AgentProvider } from '@muster/contracts';
import { Outbound } from '@muster/platform';
import { DockerMachines } from './docker/docker-machines';
import { Ec2Machines } from './ec2/ec2-machines';
import { ExternalMachines } from './external-machines';
import { HttpMachines } from './http-machines';
import { LocalMachines } from './local/local-machines';
import { NoLocalMachines } from './local/no-local-machines';
import { type Machine, type MachineDescription, MachineError, type MachineProvider } from './machine';
import { VmConfig } from './vm.config';

/** The machine providers of this service, by name. */
@Injectable()
export class Machines implements OnApplicationShutdown {
  private readonly ec2: Ec2Machines;
  private readonly providers: Partial<Record<AgentProvider, MachineProvider>>;

  constructor(
    @Inject(LocalMachines) local: LocalMachines,
    @Inject(Outbound) outbound: Outbound,
    @Inject(VmConfig) config: VmConfig,
  ) {
    const { localAgents, dockerHost, dockerCertPath, dockerTlsVerify } = config;
    const { ec2Endpoint, ec2AccessKeyId, ec2SecretAccessKey = '' } = config;
    const isTls = Boolean(dockerCertPath ?? dockerTlsVerify);
    this.ec2 = new Ec2Machines({
      endpoint: ec2Endpoint,
      ...(ec2AccessKeyId ? { credentials: { accessKeyId: ec2AccessKeyId, secretAccessKey: ec2SecretAccessKey } } : {}),
    });
    this.providers = {
      local: localAgents ? local : new NoLocalMachines(),
      external: new ExternalMachines(),
      http: new HttpMachines(outbound),
      ec2: this.ec2,
      docker: new DockerMachines({
        outbound,
        host: dockerHost,
        ...(isTls ? { tls: { folder: dockerCertPath ?? null } } : {}),
      }),
    };
  }

  onApplicationShutdown(): void {
    this.ec2.close();
  }

  /** Returns the provider of this name. For an unknown name, all operations of the returned provider fail. */
  get(provider: string): MachineProvider {
    return this.providers[provider as AgentProvider] ?? new MissingProvider(provider);
  }
}

class MissingProvider implements MachineProvider {
  constructor(private readonly name: string) {}

  describe(_machine: Machine): Promise<MachineDescription> {
    return this.rejectUnknownProvider();
  }

  start(): Promise<void> {
    return this.rejectUnknownProvider();
  }

  stop(): Promise<void> {
    return this.rejectUnknownProvider();
  }

  reboot(): Promise<void> {
    return this.rejectUnknownProvider();
  }

  terminate(): Promise<void> {
    return this.rejectUnknownProvider();
  }

  private rejectUnknownProvider(): Promise<never> {
    return Promise.reject(
      new MachineError(
        'not_supported',
        `This service has no machine provider named ${this.name}. Choose one of the providers that the service has.`,
      ),
    );
  }
}
