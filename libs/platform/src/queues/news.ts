import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { newId } from '../context/ids';
import { RedisConnections } from './redis-connections';

/** What can be new: an agent's timeline, a command for an agent, an agent's own state, a job. Each with the thing's id. */
export type Topic = 'timeline' | 'command' | 'agent' | 'job';
type Listener = (id: string) => void;

/**
 * Says to every process that there is more to read, never what. News can be lost (Redis is away, a process was slow),
 * so whoever listens also looks by itself from time to time.
 */
@Injectable()
export class News implements OnApplicationShutdown {
  private readonly logger = new Logger(News.name);
  private readonly self = newId();
  private readonly listeners = new Map<Topic, Set<Listener>>();
  private readonly waiting = new Map<Topic, Set<string>>();
  private subscriber?: Redis;
  private timer?: NodeJS.Immediate;

  constructor(@Inject(RedisConnections) private readonly connections: RedisConnections) {}

  /** Never waits and never throws. Listeners of this process hear it at once. */
  tell(topic: Topic, ids: Iterable<string>): void {
    const waiting = this.waiting.get(topic) ?? new Set();
    this.waiting.set(topic, waiting);
    for (const id of ids) {
      waiting.add(id);
      this.hear(topic, id);
    }
    this.timer ??= setImmediate(() => this.publish());
  }

  /** Answers the function that ends it. */
  listen(topic: Topic, listener: Listener): () => void {
    const listeners = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, listeners.add(listener));
    this.subscribe();
    return () => listeners.delete(listener);
  }

  onApplicationShutdown(): void {
    if (this.timer) clearImmediate(this.timer);
  }

  private publish(): void {
    delete this.timer;
    const { client, prefix } = this.connections.impatient();
    for (const [topic, ids] of this.waiting) {
      if (ids.size === 0) continue;
      const message = JSON.stringify({ from: this.self, topic, ids: [...ids] });
      ids.clear();
      client
        .publish(`${prefix}:news`, message)
        .catch((error: Error) => this.logger.debug?.(`not told: ${error.message}`));
    }
  }

  private subscribe(): void {
    if (this.subscriber) return;
    const { prefix } = this.connections.impatient();
    this.subscriber = this.connections.subscriber();
    this.subscriber.on('message', (_channel, message: string) => {
      const { from, topic, ids } = JSON.parse(message) as { from: string; topic: Topic; ids: string[] };
      if (from !== this.self) for (const id of ids) this.hear(topic, id);
    });
    this.subscriber.subscribe(`${prefix}:news`).catch((error: Error) => this.logger.debug?.(`deaf: ${error.message}`));
  }

  private hear(topic: Topic, id: string): void {
    for (const listener of this.listeners.get(topic) ?? []) listener(id);
  }
}
