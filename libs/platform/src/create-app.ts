import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AppName } from '@muster/contracts';
import type { DestinationStream } from 'pino';
import type { BaseConfig } from './config/base.config';
import type { Clock } from './context/clock';
import { HostModule } from './host.module';
import { createHttpAdapter } from './http/http-app';
import { ProblemFilter } from './http/problem-filter';
import { OpenStreams } from './http/streams';
import { InputPipe } from './http/bodies/validation';
import { AppIdentity, readServiceVersion } from './operations/app-identity';
import { createLogger, NestLogger } from './operations/logger';
import { Metrics } from './operations/metrics';
import { Readiness } from './operations/readiness';
import { QueueModule } from './queues/queue.module';
import { startTracing } from './tracing/start-tracing';

export interface AppDefinition {
  name: AppName;
  configs: [BaseConfig, ...BaseConfig[]];
  modules: (Type | DynamicModule)[];
  /** Clock of the app, for tests that control the time; by default the clock of the service. */
  clock?: Clock;
  logDestination?: DestinationStream;
}

export interface App {
  nest: NestFastifyApplication;
  metrics: Metrics;
  readiness: Readiness;
  streams: OpenStreams;
  /** Closes the app. Ends streams first, because closing waits for them, and then everything else. */
  close(): Promise<void>;
}

/** Creates an app that does not listen yet. All services, the standalone process and the tests use this function. */
export async function createApp({ name, configs, modules, clock, logDestination }: AppDefinition): Promise<App> {
  const [config] = configs;
  const metrics = new Metrics();
  const readiness = new Readiness();
  const streams = new OpenStreams(metrics.openStreams);
  const logger = createLogger({ app: name, level: config.logLevel, destination: logDestination });

  const identity = new AppIdentity(name, readServiceVersion());
  const tracing = await startTracing(config, name, metrics);

  @Module({
    imports: [
      HostModule.createWithParts({ configs, app: identity, metrics, readiness, streams, clock }),
      QueueModule.forApp(name),
      ...modules,
    ],
  })
  class RootModule {}

  const nest = await NestFactory.create<NestFastifyApplication>(
    RootModule,
    createHttpAdapter(config, metrics, readiness),
    {
      logger: new NestLogger(logger),
      bodyParser: false,
      abortOnError: false,
    },
  );
  nest.useGlobalPipes(new InputPipe());
  nest.useGlobalFilters(new ProblemFilter());
  return {
    nest,
    metrics,
    readiness,
    streams,
    close: async () => {
      readiness.startDraining();
      streams.endAllStreams();
      await nest.close();
      await tracing.end();
    },
  };
}
