import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis, type RedisOptions } from 'ioredis';
import { buildPreloadEnv } from './preload';
import type { PartSetting, PreparedPart } from './server';
import { findRedis } from './redis-install';
import { redisPrograms } from './redis-program';

/** Finds or downloads a Redis, and returns how to start the server. */
export async function prepareRedis(setting: PartSetting): Promise<PreparedPart> {
  const { folder, password } = setting;
  const data = join(folder, 'data');
  await mkdir(data, { recursive: true, mode: 0o700 });
  const install = await findRedis(setting);
  const { PATH, LD_LIBRARY_PATH } = setting.env;
  const libraries = [install.libraries, LD_LIBRARY_PATH].filter(Boolean).join(':');
  return {
    source: install.source,
    url: (port) => `redis://:${password}@127.0.0.1:${port}`,
    spec: {
      part: 'redis',
      name: 'Redis',
      folder,
      dataFolder: data,
      programs: redisPrograms,
      fixedPort: setting.fixedPort,
      launch: (port) => ({
        command: [install.program, '-'], // the configuration is passed through stdin, so that ps does not show the password
        env: {
          PATH,
          LC_ALL: 'C',
          TZ: 'UTC',
          ...buildPreloadEnv(setting.env),
          ...(libraries && { LD_LIBRARY_PATH: libraries }),
        },
        stdin: renderConfiguration({ port, password, data, durable: setting.durable }),
      }),
      answers: (port, pid) => readVersionIfOwn(port, password, pid),
      stopSignal: 'SIGTERM',
      orphanSignal: 'SIGTERM',
    },
  };
}

/** Returns the version of an external Redis. */
export async function readRedisVersion(url: string): Promise<string> {
  return formatVersion(await readServerInfo(new Redis(url, once)));
}

function renderConfiguration(settings: { port: number; password: string; data: string; durable: boolean }): string {
  const quoted = `"${settings.data.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n')}"`;
  return [
    'bind 127.0.0.1',
    `port ${settings.port}`,
    'protected-mode yes',
    `requirepass ${settings.password}`,
    `dir ${quoted}`,
    'daemonize no',
    'maxmemory-policy noeviction',
    'save ""',
    ...(settings.durable ? ['appendonly yes', 'appendfsync everysec'] : ['appendonly no']),
    '',
  ].join('\n');
}

async function readVersionIfOwn(port: number, password: string, pid: number): Promise<string | undefined> {
  try {
    const info = await readServerInfo(new Redis({ host: '127.0.0.1', port, password, ...once }));
    return info('process_id') === String(pid) ? formatVersion(info) : undefined;
  } catch {
    return undefined;
  }
}

// A single attempt, which fails instead of waiting.
const once: RedisOptions = {
  lazyConnect: true,
  enableReadyCheck: false,
  retryStrategy: () => null,
  maxRetriesPerRequest: 0,
  connectTimeout: 5_000,
  commandTimeout: 5_000,
};

async function readServerInfo(client: Redis): Promise<(name: string) => string | undefined> {
  let fault: Error | undefined;
  client.on('error', (error: Error) => (fault ??= error));
  try {
    await client.connect();
    await client.ping(); // rejected while Redis still loads its data
    const info = await client.info('server');
    return (name) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  } catch (error) {
    throw fault ?? error; // the connection's error is more specific than "Connection is closed"
  } finally {
    client.disconnect();
  }
}

function formatVersion(info: (name: string) => string | undefined): string {
  return info('valkey_version') ?? info('redis_version') ?? 'unknown';
}
