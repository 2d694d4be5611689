import type { FactoryProvider } from '@nestjs/common';
import { TimelineHub } from '@muster/agents';
import { Database } from '@muster/database';
import { News, OpenStreams } from '@muster/platform';
import { GatewayConfig } from '../gateway.config';

export const timelineHub: FactoryProvider<TimelineHub> = {
  provide: TimelineHub,
  inject: [Database, News, OpenStreams, GatewayConfig],
  useFactory: (database: Database, news: News, streams: OpenStreams, config: GatewayConfig) =>
    new TimelineHub(database, news, streams, {
      maxStreams: config.eventStreamsMax,
      maxStreamsPerOrganization: config.eventStreamsMaxPerOrganization,
      heartbeatMs: config.eventStreamsHeartbeatMs,
      lookMs: config.eventStreamsLookMs,
    }),
};
