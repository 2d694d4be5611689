import { join } from 'node:path';
import { buildCacheName } from './cache-folders';
import { DevStackError } from './process';
import { type PartSetting } from './server';
import { fetchRedis } from './redis-fetch';
import { findExtractedRedis, findRedisIn, type RedisProgram } from './redis-program';

export interface RedisInstall extends RedisProgram {
  source: 'path' | 'cache';
}

/**
 * Finds the first Redis or Valkey that runs and is recent enough: on PATH, in the cache, or downloaded into the cache.
 */
export async function findRedis({ env, cacheDirs, writableCache, onProgress }: PartSetting): Promise<RedisInstall> {
  const faults: string[] = [];
  for (const folder of new Set((env.PATH ?? '').split(':').filter((each) => each.startsWith('/')))) {
    const found = await findRedisIn(folder);
    if (!Array.isArray(found)) return { ...found, source: 'path' };
    faults.push(...found);
  }

  const name = await buildCacheName('redis');
  for (const cache of cacheDirs) {
    const found = await findExtractedRedis(join(cache, name));
    if (!Array.isArray(found)) return { ...found, source: 'cache' };
  }

  const fetched = await fetchRedis({ target: join(await writableCache(), name), env, onProgress });
  if (!Array.isArray(fetched)) return { ...fetched, source: 'cache' };
  throw new DevStackError(
    `Redis is not installed and could not be downloaded (${[...new Set([...faults, ...fetched])].join('; ')}); ` +
      'run `apt-get install redis-server` (any Redis or Valkey from version 6.2 on PATH works), or set REDIS_URL.',
  );
}
