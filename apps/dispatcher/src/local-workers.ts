import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { LocalAgentRows } from '@muster/machines';
import { WorkerSupervision } from '@muster/vm';

/** Supervises the workers of local agents while the app runs. */
@Injectable()
export class LocalWorkers implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(WorkerSupervision) private readonly supervision: WorkerSupervision,
    @Inject(LocalAgentRows) private readonly agents: LocalAgentRows,
  ) {}

  onApplicationBootstrap(): void {
    // The start is not awaited, because the service must also start while its database is unavailable.
    this.supervision
      .startSupervision(this.agents)
      .catch((error: Error) =>
        new Logger(LocalWorkers.name).error(`could not start the supervision of local workers: ${error.message}`),
      );
  }

  /** The workers are stopped while the service still accepts requests, so that they can send their last reports. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.supervision.endAllWorkers();
  }
}
