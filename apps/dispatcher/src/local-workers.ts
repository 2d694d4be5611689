import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { LocalAgentRows } from '@muster/agents';
import { WorkerSupervision } from '@muster/vm';

/** The workers of local agents: here for as long as the app is. */
@Injectable()
export class LocalWorkers implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(WorkerSupervision) private readonly supervision: WorkerSupervision,
    @Inject(LocalAgentRows) private readonly agents: LocalAgentRows,
  ) {}

  onApplicationBootstrap(): void {
    // A service without its database starts all the same, and so it must not wait for this.
    this.supervision
      .begin(this.agents)
      .catch((error: Error) => new Logger(LocalWorkers.name).error(`supervision: ${error.message}`));
  }

  /** While the service still listens, so that the workers can say what they have left to say. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.supervision.close();
  }
}
