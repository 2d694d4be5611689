import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { BaseConfig } from '../config/base.config';

/**
 * The ways in which a process talks to Redis. They differ in how long they wait, because the waiting is the
 * difference: a paused Redis answers nothing and closes nothing.
 */
@Injectable()
export class RedisConnections implements OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(RedisConnections.name);
  private readonly open: Redis[] = [];
  private impatientClient?: Redis;
  private publisherClient?: Redis;

  constructor(@Inject(BaseConfig) private readonly config: BaseConfig) {}

  get queuePrefix(): string {
    return `${this.config.redisPrefix}:queue`;
  }

  /** For workers, which block on purpose: no timeout, and reconnection within 2 s for ever. */
  blocking(): Redis {
    const client = this.connect('worker', { maxRetriesPerRequest: null });
    // Each worker blocks on a copy of its own; they are ours to end as well.
    const duplicate = client.duplicate.bind(client);
    client.duplicate = (options) => {
      const copy = duplicate(options);
      this.open.push(copy);
      return copy;
    };
    return client;
  }

  /** For pub/sub: it subscribes again by itself after every loss. */
  subscriber(): Redis {
    return this.connect('pub-sub', { maxRetriesPerRequest: null, autoResubscribe: true });
  }

  /** For publishing: only a command timeout unhangs an add while Redis is paused. The add may have happened all the same. */
  publisher(): Redis {
    this.publisherClient ??= this.connect('publisher', {
      commandTimeout: 5000,
      maxRetriesPerRequest: 1,
      enableOfflineQueue: true,
    });
    return this.publisherClient;
  }

  /** For what a request asks in passing (rate counters, probes): an answer at once or none. */
  impatient(): { client: Redis; prefix: string } {
    this.impatientClient ??= this.connect('impatient', {
      commandTimeout: 150,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
    });
    return { client: this.impatientClient, prefix: this.config.redisPrefix };
  }

  /** A Redis that does not answer must not hold up the end: workers wait for it as long as they are connected. */
  async onModuleDestroy(): Promise<void> {
    const answered = await this.impatient()
      .client.ping()
      .catch(() => null);
    if (answered) return;
    this.logger.warn('Redis did not answer a ping during shutdown; closing its connections without waiting for the workers');
    this.disconnect();
  }

  onApplicationShutdown(): void {
    this.disconnect();
  }

  private disconnect(): void {
    for (const client of this.open) {
      const betweenAttempts = client.status === 'reconnecting';
      client.disconnect();
      if (betweenAttempts) sayEnd(client);
    }
  }

  private connect(purpose: string, options: RedisOptions): Redis {
    const client = new Redis(this.config.redisUrl, {
      connectTimeout: 2000,
      disconnectTimeout: 200,
      keepAlive: 10_000,
      retryStrategy: (times) => Math.min(times * 100, 2000),
      connectionName: `muster-${purpose}`,
      ...options,
    });
    let complained = false;
    client.on('error', (error: Error) => {
      if (!complained) this.logger.warn(`lost the Redis connection (${purpose}); reconnecting: ${error.message || (error as { code?: string }).code}`);
      complained = true;
    });
    client.on('ready', () => {
      if (complained) this.logger.log(`reconnected to Redis (${purpose})`);
      complained = false;
    });
    this.open.push(client);
    return client;
  }
}

/**
 * A client that waits for its next attempt has nothing to close, and ioredis then tells nobody that it is over: commands
 * in its line would wait for ever, and a worker for the word.
 */
function sayEnd(client: Redis): void {
  const internals = client as unknown as { flushQueue(error: Error): void };
  client.status = 'end';
  internals.flushQueue(new Error('Connection is closed.'));
  client.emit('end');
}
