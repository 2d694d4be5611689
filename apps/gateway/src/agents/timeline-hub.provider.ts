import type { FactoryProvider } from '@nestjs/common';
import { TimelineHub } from '@muster/agents';
import { Database } from '@muster/database';
import { PubSub, OpenStreams } from '@muster/platform';
import { GatewayConfig } from '../gateway.config';

export const timelineHub: FactoryProvider<TimelineHub> = {
  provide: TimelineHub,
  inject: [Database, PubSub, OpenStreams, GatewayConfig],
  useFactory: (database: Database, pubSub: PubSub, streams: OpenStreams, config: GatewayConfig) =>
    new TimelineHub(database, pubSub, streams, {
      maxStreams: config.eventStreamsMax,
      maxStreamsPerOrganization: config.eventStreamsMaxPerOrganization,
      heartbeatMs: config.eventStreamsHeartbeatMs,
      lookMs: config.eventStreamsLookMs,
    }),
};
