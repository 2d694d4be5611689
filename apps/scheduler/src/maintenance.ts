import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { purgeExpired, rewrapSecrets } from '@muster/access';
import { keepTimelinePartitions } from '@muster/agents';
import { Database, purgeQueueProbes, readBacklog, requestQueueProbes, sweepOutbox } from '@muster/database';
import { Clock, DoorbellPublisher, Metrics, Periodic } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { SchedulerConfig } from './scheduler.config';

/** The loops that keep the house in order, each safe on any number of replicas. */
@Injectable()
export class Maintenance implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loops: Periodic[];

  constructor(
    @Inject(SchedulerConfig) config: SchedulerConfig,
    @Inject(Database) database: Database,
    @Inject(DoorbellPublisher) publisher: DoorbellPublisher,
    @Inject(KeyRing) ring: KeyRing,
    @Inject(Clock) clock: Clock,
    @Inject(Metrics) metrics: Metrics,
  ) {
    this.loops = [
      new Periodic({
        name: 'sweep outbox',
        intervalMs: config.outboxSweepMs,
        runOnce: async () => {
          const counts = await sweepOutbox(database, publisher, { reringMs: config.outboxReringMs, limit: 500 });
          metrics.outboxPublished.inc({ by: 'sweep' }, counts.rung);
          return { ...counts };
        },
      }),
      new Periodic({
        name: 'measure backlog',
        intervalMs: 5000,
        runOnce: async () => {
          for (const { queue, waiting } of await readBacklog(database)) metrics.backlog.set({ queue }, waiting);
          return {};
        },
      }),
      new Periodic({
        name: 'purge expired',
        intervalMs: config.maintenanceTickMs,
        runOnce: async () => ({
          ...(await purgeExpired(database, clock.now())),
          probes: await purgeQueueProbes(database),
        }),
      }),
      new Periodic({
        name: 'rewrap secrets',
        intervalMs: config.maintenanceTickMs,
        runOnce: () => rewrapSecrets(database, ring),
      }),
      new Periodic({
        name: 'keep timeline partitions',
        intervalMs: config.maintenanceTickMs,
        runOnce: () => keepTimelinePartitions(database, { retentionDays: config.timelineRetentionDays }),
      }),
      new Periodic({
        name: 'send canaries',
        intervalMs: config.maintenanceTickMs,
        runOnce: async () => {
          const probes = await database.transaction('system', (tx) => requestQueueProbes(tx, {}));
          return { probes: probes.length };
        },
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
