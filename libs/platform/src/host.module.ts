import { type DynamicModule, Global, Module } from '@nestjs/common';
import { BaseConfig } from './config/base.config';
import { Clock, ServiceClock } from './context/clock';
import { Attempts } from './http/attempts';
import { Outbound } from './http/addresses/outbound';
import { RateLimiter } from './http/rate-limiter';
import { OpenStreams } from './http/streams';
import { AppIdentity } from './operations/app-identity';
import { Metrics } from './operations/metrics';
import { Readiness } from './operations/readiness';

export interface HostParts {
  /** One configuration per app of the process. Settings of the process itself are read from the first one. */
  configs: [BaseConfig, ...BaseConfig[]];
  app: AppIdentity;
  metrics: Metrics;
  readiness: Readiness;
  streams: OpenStreams;
  clock?: Clock;
}

/** Provides the configuration, the clock and the shared instruments of the process to all of its modules. */
@Global()
@Module({})
export class HostModule {
  static createWithParts({ configs, app, metrics, readiness, streams, clock }: HostParts): DynamicModule {
    // A configuration can be injected by its own class and by the parents of that class.
    const byType = new Map<new () => unknown, BaseConfig>();
    for (const config of configs) {
      for (const type of listConfigClasses(config)) if (!byType.has(type)) byType.set(type, config);
    }
    return {
      module: HostModule,
      providers: [
        ...[...byType].map(([type, config]) => ({ provide: type, useValue: config })),
        { provide: AppIdentity, useValue: app },
        { provide: Metrics, useValue: metrics },
        { provide: Readiness, useValue: readiness },
        { provide: OpenStreams, useValue: streams },
        { provide: Clock, useValue: clock ?? new ServiceClock() },
        { provide: Outbound, useFactory: () => new Outbound(configs[0].outboundAllow) },
        Attempts,
        RateLimiter,
      ],
      exports: [...byType.keys(), AppIdentity, Clock, Metrics, Readiness, OpenStreams, Outbound, Attempts, RateLimiter],
    };
  }
}

function listConfigClasses(config: BaseConfig): (new () => unknown)[] {
  const types: (new () => unknown)[] = [];
  for (
    let type: object = config.constructor;
    type !== Function.prototype;
    type = Object.getPrototypeOf(type) as object
  ) {
    types.push(type as new () => unknown);
  }
  return types;
}
