import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { LocalAgentRows, MachineControl } from '@muster/agents';
import { Periodic } from '@muster/platform';
import { WorkerSupervision } from '@muster/vm';

/** What machines wait for without anybody ringing, and the workers of local agents. */
@Injectable()
export class MachineLoops implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly sweep: Periodic;

  constructor(
    @Inject(MachineControl) private readonly machines: MachineControl,
    @Inject(WorkerSupervision) private readonly supervision: WorkerSupervision,
    @Inject(LocalAgentRows) private readonly agents: LocalAgentRows,
  ) {
    this.sweep = new Periodic({ name: 'sweep machines', intervalMs: 1000, runOnce: () => machines.sweep() });
  }

  onApplicationBootstrap(): void {
    this.sweep.start();
    // A service without its database starts all the same, and so it must not wait for this.
    this.supervision
      .begin(this.agents)
      .catch((error: Error) => new Logger(MachineLoops.name).error(`supervision: ${error.message}`));
  }

  /** While the service still listens, so that the workers can say what they have left to say. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.supervision.close();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.sweep.stop();
    await this.machines.settled();
  }
}
