import { Redis } from 'ioredis';

/**
 * Records every command that a Redis server receives, also from scripts. The record also contains values that have
 * expired or were deleted.
 */
export class RedisRecorder {
  private readonly lines: string[] = [];

  private constructor(private readonly monitor: Redis) {
    monitor.on('monitor', (_time: string, args: string[]) => this.lines.push(args.join(' ')));
  }

  static async start(url: string): Promise<RedisRecorder> {
    const redis = new Redis(url);
    try {
      return new RedisRecorder(await redis.monitor());
    } finally {
      redis.disconnect();
    }
  }

  read(): string {
    return this.lines.join('\n');
  }

  stop(): void {
    this.monitor.disconnect();
  }
}

/** A key that `readRedis` sets first, as it returns the key: the service may have no key while nothing waits. */
export const ownKey = 'string key-of-the-test "read"';

/** Returns all keys of a Redis server with their values, as text. */
export async function readRedis(url: string): Promise<string> {
  const redis = new Redis(url);
  try {
    await redis.set('key-of-the-test', 'read');
    const parts: string[] = [];
    for (const key of await redis.keys('*')) {
      const type = await redis.type(key);
      // The key may have expired in the meantime.
      if (type === 'none') continue;
      const read = readers[type];
      if (!read) throw new Error(`The type ${type} of the key ${key} cannot be read. Add it to the readers.`);
      parts.push(`${type} ${key} ${JSON.stringify(await read(redis, key))}`);
    }
    return parts.join('\n');
  } finally {
    redis.disconnect();
  }
}

const readers: Record<string, (redis: Redis, key: string) => Promise<unknown>> = {
  string: (redis, key) => redis.get(key),
  hash: (redis, key) => redis.hgetall(key),
  list: (redis, key) => redis.lrange(key, 0, -1),
  set: (redis, key) => redis.smembers(key),
  zset: (redis, key) => redis.zrange(key, 0, -1, 'WITHSCORES'),
  stream: (redis, key) => redis.xrange(key, '-', '+'),
};
