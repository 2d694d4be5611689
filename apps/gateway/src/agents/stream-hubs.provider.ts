import type { FactoryProvider } from '@nestjs/common';
import { EventHub, StreamRoom, TimelineHub } from '@muster/timeline';
import { Database } from '@muster/database';
import { PubSub, OpenStreams } from '@muster/platform';
import { GatewayConfig } from '../gateway.config';

const streamRoom: FactoryProvider<StreamRoom> = {
  provide: StreamRoom,
  inject: [GatewayConfig],
  useFactory: (config: GatewayConfig) =>
    new StreamRoom({
      maxStreams: config.eventStreamsMax,
      maxStreamsPerOrganization: config.eventStreamsMaxPerOrganization,
    }),
};

type Hub = typeof TimelineHub | typeof EventHub;

function provideHub<T extends Hub>(provide: T): FactoryProvider<InstanceType<T>> {
  return {
    provide,
    inject: [Database, PubSub, OpenStreams, GatewayConfig, StreamRoom],
    useFactory: (database: Database, pubSub: PubSub, streams: OpenStreams, config: GatewayConfig, room: StreamRoom) =>
      new provide(database, pubSub, streams, {
        room,
        heartbeatMs: config.eventStreamsHeartbeatMs,
        lookMs: config.eventStreamsLookMs,
      }) as InstanceType<T>,
  };
}

/** The hubs that feed the event streams of agents and organizations. One limit applies to all streams together. */
export const streamHubs = [streamRoom, provideHub(TimelineHub), provideHub(EventHub)];
