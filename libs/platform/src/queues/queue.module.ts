import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Global, Inject, Module, type OnModuleInit } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { type AppName, getQueueDefinition, queueNames, serviceApps } from '@muster/contracts';
import { CounterStore, RedisCounterStore } from '../http/counter-store';
import { Readiness } from '../operations/readiness';
import { ServiceLevels } from '../operations/service-levels';
import { BullPublisher } from './bull-publisher';
import { Handoff } from './handoff';
import { MessagePublisher } from './message-ledger';
import { listHandlers, QUEUE_OF_PROCESSOR, workerConfig } from './queue-processor';
import { PubSub } from './pub-sub';
import { QueueRates } from './queue-rates';
import { Relay } from './relay';
import { RedisConnections } from './redis-connections';

const APP_NAME = Symbol('app name');

@Global()
@Module({
  providers: [
    RedisConnections,
    PubSub,
    Relay,
    QueueRates,
    Handoff,
    ServiceLevels,
    { provide: CounterStore, useClass: RedisCounterStore },
  ],
  exports: [RedisConnections, PubSub, Relay, QueueRates, Handoff, ServiceLevels, CounterStore],
})
class RedisModule {}

/** Provides queues to every app, and checks that an app handles exactly the jobs that the catalogue assigns to it. */
@Global()
@Module({})
export class QueueModule implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    @Inject(APP_NAME) private readonly app: AppName,
    @Inject(RedisConnections) private readonly connections: RedisConnections,
    @Inject(Readiness) private readonly readiness: Readiness,
  ) {}

  static forApp(app: AppName): DynamicModule {
    return {
      module: QueueModule,
      imports: [
        RedisModule,
        DiscoveryModule,
        BullModule.forRootAsync(workerConfig, {
          inject: [RedisConnections],
          useFactory: (connections: RedisConnections) => ({
            connection: connections.createBlockingConnection(),
            prefix: connections.queuePrefix,
          }),
        }),
        // No queue is registered here, because a processor would use the queue's connection, and a worker needs a
        // connection that blocks.
        BullModule.registerQueue(),
      ],
      providers: [
        { provide: APP_NAME, useValue: app },
        { provide: MessagePublisher, useClass: BullPublisher },
      ],
      exports: [MessagePublisher],
    };
  }

  onModuleInit(): void {
    const processors = this.discovery
      .getProviders()
      .filter(({ metatype }) => metatype && Reflect.hasMetadata(QUEUE_OF_PROCESSOR, metatype))
      .map(({ metatype }) => ({
        queue: Reflect.getMetadata(QUEUE_OF_PROCESSOR, metatype as object) as string,
        jobs: listHandlers(metatype as object).map(({ job }) => job),
      }));
    const faults = compareProcessorsWithCatalogue(this.app, processors);
    if (faults.length)
      throw new Error(
        `the queues of ${this.app} do not match the catalogue:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
      );
    // Connects now, so that the first request that uses this connection does not have to wait for it.
    const { client } = this.connections.getImpatientConnection();
    this.readiness.registerCheck('queue', async () => void (await client.ping()), { required: false });
  }
}

/**
 * Returns the differences between the catalogue and an app's processors: jobs without a handler, with several handlers,
 * or not in the catalogue.
 */
export function compareProcessorsWithCatalogue(
  app: AppName,
  processors: { queue: string; jobs: string[] }[],
): string[] {
  const apps: readonly string[] = app === 'standalone' ? serviceApps : [app];
  const faults: string[] = [];
  for (const queue of queueNames) {
    const { app: owner, jobs } = getQueueDefinition(queue);
    const handled = processors.filter((processor) => processor.queue === queue).flatMap((processor) => processor.jobs);
    if (!apps.includes(owner)) {
      if (handled.length) faults.push(`${queue} belongs to ${owner}, but this app handles it`);
      continue;
    }
    for (const job of Object.keys(jobs)) {
      const count = handled.filter((name) => name === job).length;
      if (count !== 1) faults.push(`${queue}.${job} has ${count === 0 ? 'no handler' : `${count} handlers`}`);
    }
    for (const job of handled.filter((name) => !(name in jobs))) faults.push(`${queue}.${job} is not in the catalogue`);
  }
  return faults;
}
