import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from '@muster/database';
import { Dispatch, DispatchConfig, escalateCancels, sweepDispatch } from '@muster/jobs';
import { Clock, Periodic } from '@muster/platform';

/** What nobody rings for: jobs whose turn has come, and cancels that their agent does not confirm. */
@Injectable()
export class DispatchLoops implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loops: Periodic[];

  constructor(
    @Inject(DispatchConfig) { dispatchSweepMs: intervalMs }: DispatchConfig,
    @Inject(Database) database: Database,
    @Inject(Dispatch) dispatch: Dispatch,
    @Inject(Clock) clock: Clock,
  ) {
    this.loops = [
      new Periodic({ name: 'sweep dispatch', intervalMs, runOnce: () => sweepDispatch(database, dispatch) }),
      new Periodic({ name: 'escalate cancels', intervalMs, runOnce: () => escalateCancels(database, clock.now()) }),
    ];
  }

  onApplicationBootstrap(): void {
    for (const loop of this.loops) loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }
}
