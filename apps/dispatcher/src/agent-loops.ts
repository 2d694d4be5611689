import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { AgentsConfig, CommandDelivery, failOverdueCommands, failSilentAgents, stopIdleAgents } from '@muster/agents';
import { Database } from '@muster/database';
import { Periodic } from '@muster/platform';

/** What nobody rings for: commands to push again, commands past their deadline, and machines that fell silent or idle. */
@Injectable()
export class AgentLoops implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loops: Periodic[];

  constructor(
    @Inject(AgentsConfig) { agentOfflineAfterMs: offlineAfterMs, commandSweepMs, idleMonitorTickMs }: AgentsConfig,
    @Inject(Database) database: Database,
    @Inject(CommandDelivery) delivery: CommandDelivery,
  ) {
    this.loops = [
      new Periodic({ name: 'push commands', intervalMs: commandSweepMs, runOnce: () => delivery.deliverDue() }),
      new Periodic({
        name: 'fail overdue commands',
        intervalMs: commandSweepMs,
        runOnce: async () => ({ failed: await failOverdueCommands(database) }),
      }),
      new Periodic({
        name: 'fail silent agents',
        // Often enough that silence is seen within a tenth of what is allowed.
        intervalMs: Math.min(10_000, Math.max(20, offlineAfterMs / 10)),
        runOnce: () => failSilentAgents(database, { offlineAfterMs }),
      }),
      new Periodic({
        name: 'stop idle agents',
        intervalMs: idleMonitorTickMs,
        runOnce: () => stopIdleAgents(database),
      }),
    ];
  }

  onApplicationBootstrap(): void {
    for (const loop of this.loops) loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }
}
