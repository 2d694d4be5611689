import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { BaseConfig } from '../config/base.config';

/**
 * Creates the Redis connections of a process. The connections differ in how long a command may wait, because a paused
 * Redis neither answers nor closes connections.
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

  /**
   * Creates the connection of queue workers, whose commands block on purpose. It has no command timeout, and it retries
   * a lost connection at intervals of at most 2 s forever.
   */
  createBlockingConnection(): Redis {
    const client = this.connect('worker', { maxRetriesPerRequest: null });
    // Each worker blocks on its own copy of the connection. This class closes the copies, too.
    const duplicate = client.duplicate.bind(client);
    client.duplicate = (options) => {
      const copy = duplicate(options);
      this.open.push(copy);
      return copy;
    };
    return client;
  }

  /** Creates a connection for pub/sub, which subscribes again automatically after every lost connection. */
  createSubscriber(): Redis {
    return this.connect('pub-sub', { maxRetriesPerRequest: null, autoResubscribe: true });
  }

  /**
   * Returns the connection for publishing messages. While Redis is paused, only the command timeout ends a call of
   * BullMQ's `add`. Redis may still store the message afterwards.
   */
  getPublisher(): Redis {
    this.publisherClient ??= this.connect('publisher', {
      commandTimeout: 5000,
      maxRetriesPerRequest: 1,
      enableOfflineQueue: true,
    });
    return this.publisherClient;
  }

  /**
   * Returns the connection for commands that a request must not wait for, such as rate counters and probes: a command
   * fails if there is no answer at once.
   */
  getImpatientConnection(): { client: Redis; prefix: string } {
    this.impatientClient ??= this.connect('impatient', {
      commandTimeout: 150,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
    });
    return { client: this.impatientClient, prefix: this.config.redisPrefix };
  }

  /**
   * Disconnects if Redis does not answer. Workers wait for Redis while they are connected, which would delay the
   * shutdown.
   */
  async onModuleDestroy(): Promise<void> {
    const answered = await this.getImpatientConnection()
      .client.ping()
      .catch(() => null);
    if (answered) return;
    this.logger.warn(
      'Redis did not answer a ping during shutdown; closing its connections without waiting for the workers',
    );
    this.disconnect();
  }

  onApplicationShutdown(): void {
    this.disconnect();
  }

  private disconnect(): void {
    for (const client of this.open) {
      const betweenAttempts = client.status === 'reconnecting';
      client.disconnect();
      if (betweenAttempts) emitEndOfClient(client);
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
      if (!complained)
        this.logger.warn(
          `lost the Redis connection (${purpose}); reconnecting: ${error.message || (error as { code?: string }).code}`,
        );
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
 * Ends a client that waits for its next connection attempt. Such a client has no connection to close, and ioredis does
 * not report its end. Without this, queued commands and workers that wait for the `end` event would wait forever.
 */
function emitEndOfClient(client: Redis): void {
  const internals = client as unknown as { flushQueue(error: Error): void };
  client.status = 'end';
  internals.flushQueue(new Error('Connection is closed.'));
  client.emit('end');
}
