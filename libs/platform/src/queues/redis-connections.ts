import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { BaseConfig } from '../config/base-config';

/**
 * The three ways in which a process talks to Redis. They differ in how long they wait, because the waiting is the
 * difference: a paused Redis answers nothing and closes nothing.
 */
@Injectable()
export class RedisConnections implements OnApplicationShutdown {
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
    return this.connect('worker', { maxRetriesPerRequest: null });
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

  async onApplicationShutdown(): Promise<void> {
    for (const client of this.open) client.disconnect();
  }

  private connect(purpose: string, options: RedisOptions): Redis {
    const client = new Redis(this.config.redisUrl, {
      connectTimeout: 2000,
      keepAlive: 10_000,
      retryStrategy: (times) => Math.min(times * 100, 2000),
      connectionName: `muster-${purpose}`,
      ...options,
    });
    let complained = false;
    client.on('error', (error: Error) => {
      if (!complained) this.logger.warn(`redis (${purpose}): ${error.message || (error as { code?: string }).code}`);
      complained = true;
    });
    client.on('ready', () => {
      if (complained) this.logger.log(`redis (${purpose}): back`);
      complained = false;
    });
    this.open.push(client);
    return client;
  }
}
