import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RedisConnections } from './redis-connections';

type Listener = (payload: string) => void;

/**
 * Passes data from one process to another while both are connected, such as the images of a browser that a person
 * watches. Unlike a notification of `PubSub`, a payload contains the data itself, because the data is never stored: who
 * does not listen at this moment never gets it.
 */
@Injectable()
export class Relay {
  private readonly logger = new Logger(Relay.name);
  private readonly listeners = new Map<string, Set<Listener>>();
  private subscriber?: Redis;

  constructor(@Inject(RedisConnections) private readonly connections: RedisConnections) {}

  /** Sends a payload to the listeners of a channel. Returns the number of processes that received it. */
  sendPayload(channel: string, payload: string): Promise<number> {
    const { client, prefix } = this.connections.getImpatientConnection();
    return client.publish(`${prefix}:relay:${channel}`, payload);
  }

  /** Registers a listener of a channel. Returns the function that removes it. */
  listen(channel: string, listener: Listener): () => void {
    const subscriber = this.getSubscriber();
    const name = this.buildChannelName(channel);
    const listeners = this.listeners.get(name) ?? new Set();
    const isFirst = listeners.size === 0;
    this.listeners.set(name, listeners.add(listener));
    if (isFirst) subscriber.subscribe(name).catch((error: Error) => this.logFailure(error));
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0 || this.listeners.get(name) !== listeners) return;
      this.listeners.delete(name);
      subscriber.unsubscribe(name).catch((error: Error) => this.logFailure(error));
    };
  }

  /** Sets a mark that all processes can read, for `seconds`. */
  async setSharedMark(name: string, seconds: number): Promise<void> {
    const { client, prefix } = this.connections.getImpatientConnection();
    await client.set(`${prefix}:relay:${name}`, '1', 'EX', seconds);
  }

  async hasMark(name: string): Promise<boolean> {
    const { client, prefix } = this.connections.getImpatientConnection();
    return (await client.exists(`${prefix}:relay:${name}`)) === 1;
  }

  private buildChannelName(channel: string): string {
    return `${this.connections.getImpatientConnection().prefix}:relay:${channel}`;
  }

  private getSubscriber(): Redis {
    if (this.subscriber) return this.subscriber;
    this.subscriber = this.connections.createSubscriber();
    this.subscriber.on('message', (name, payload: string) => {
      for (const listener of this.listeners.get(name) ?? []) {
        try {
          listener(payload);
        } catch (error) {
          // The message of the error may contain a part of the payload, which must not be stored.
          this.logger.warn(`a listener could not handle a relayed payload: ${(error as Error).name}`);
        }
      }
    });
    return this.subscriber;
  }

  private logFailure(error: Error): void {
    this.logger.debug?.(`could not change a subscription in Redis: ${error.message}`);
  }
}
