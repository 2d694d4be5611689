import { randomBytes } from 'node:crypto';
import { mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { listCacheFolders, findFirstWritable } from './cache-folders';
import { lockFolder } from './folder-lock';
import { preparePostgres, readPostgresVersion } from './postgres';
import { DevStackError, createDiskFullError } from './process';
import { startServer, type ChildHandle } from './server';
import { prepareRedis, readRedisVersion } from './redis';

export { DevStackError };

type Part = 'postgres' | 'redis';

export interface DevStackOptions {
  /** Folder with all files of the stack: postgres/, redis/. */
  dataDir: string;
  /**
   * Folder for downloaded programs; by default $XDG_CACHE_HOME/muster or ~/.cache/muster, or <dataDir>/cache if that is
   * not writable.
   */
  cacheDir?: string;
  /** 'fast' is for tests: nothing is flushed to disk, and a crash may lose all data. */
  durability: 'durable' | 'fast';
  parts?: Part[];
  /** Fixed ports. Without one a free port is chosen, and reused by the next start. */
  ports?: Partial<Record<Part, number>>;
  /** Major version of Postgres that creates the database if there is none; by default the first version found. */
  postgresMajor?: number;
  /** Whether a server that dies is started again, on the same port and data. */
  keepAlive?: boolean;
  /** Whether the data of earlier runs is deleted first. */
  reset?: boolean;
  /** Environment variables. If DATABASE_URL or REDIS_URL is set, that server is used and none is started. */
  env?: NodeJS.ProcessEnv;
  onProgress?: (line: string) => void;
}

interface DevStackReport {
  part: Part;
  source: 'environment' | 'path' | 'cache' | 'package';
  version: string;
  ms: number;
}

export interface DevStack {
  databaseUrl: string;
  redisUrl: string;
  report: DevStackReport[];
  postgres?: ChildHandle;
  redis?: ChildHandle;
  stop(): Promise<void>;
}

/** Starts Postgres and Redis. Resolves when both accept connections. */
export async function startDevStack(options: DevStackOptions): Promise<DevStack> {
  const { parts = ['postgres', 'redis'], env = process.env } = options;
  let dataDir = resolve(options.dataDir);
  const started: StartedPart[] = [];
  let releaseLock = async () => {};
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    dataDir = await realpath(dataDir);
    releaseLock = await lockFolder(dataDir);
    if (options.reset)
      await Promise.all(parts.map((part) => rm(join(dataDir, part), { recursive: true, force: true })));
    const outcomes = await Promise.allSettled(
      parts.map(async (part) => started.push(await startPart(part, dataDir, { ...options, env }))),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
  } catch (error) {
    await Promise.all(started.map(({ handle }) => handle?.stop()));
    await releaseLock();
    throw formatAsOneSentence(error, dataDir);
  }

  const findStarted = (part: Part) => started.find(({ report }) => report.part === part);
  let stopped: Promise<void> | undefined;
  return {
    databaseUrl: findStarted('postgres')?.url ?? '',
    redisUrl: findStarted('redis')?.url ?? '',
    report: parts.flatMap((part) => findStarted(part)?.report ?? []),
    postgres: findStarted('postgres')?.handle,
    redis: findStarted('redis')?.handle,
    stop: () => (stopped ??= Promise.all(started.map(({ handle }) => handle?.stop())).then(releaseLock)),
  };
}

interface StartedPart {
  url: string;
  report: DevStackReport;
  handle?: ChildHandle;
}

const partKinds = {
  postgres: { urlSetting: 'DATABASE_URL', externalVersion: readPostgresVersion, prepare: preparePostgres },
  redis: { urlSetting: 'REDIS_URL', externalVersion: readRedisVersion, prepare: prepareRedis },
};

async function startPart(
  part: Part,
  dataDir: string,
  options: DevStackOptions & { env: NodeJS.ProcessEnv },
): Promise<StartedPart> {
  const { env, onProgress = () => {} } = options;
  const { urlSetting, externalVersion, prepare } = partKinds[part];
  const began = Date.now();
  const buildPartReport = (source: DevStackReport['source'], version: string) => ({
    part,
    source,
    version,
    ms: Date.now() - began,
  });
  const url = env[urlSetting];
  if (url)
    return { url, report: buildPartReport('environment', await waitForVersion(urlSetting, url, externalVersion)) };

  const folder = join(dataDir, part);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const caches = listCacheFolders(dataDir, options);
  const prepared = await prepare({
    dataDir,
    folder,
    password: await readOrCreateSecret(join(folder, 'password')),
    durable: options.durability === 'durable',
    fixedPort: options.ports?.[part],
    postgresMajor: options.postgresMajor,
    cacheDirs: caches,
    writableCache: () => findFirstWritable(caches),
    env,
    onProgress,
  });
  const handle = await startServer(prepared.spec, onProgress, options.keepAlive);
  return { url: prepared.url(handle.port), handle, report: buildPartReport(prepared.source, handle.version) };
}

// Waits for an external server, which may still be starting, for example in the same compose file. Returns its version.
async function waitForVersion(
  setting: string,
  url: string,
  version: (url: string) => Promise<string>,
): Promise<string> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    try {
      return await version(url);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const starting = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|57P03|LOADING/.test(`${code} ${message}`);
      if (!starting || Date.now() > deadline)
        throw new DevStackError(
          `${setting} is set, but its server does not answer (${message || code}); correct it, or unset it.`,
        );
      await delay(250);
    }
  }
}

async function readOrCreateSecret(file: string): Promise<string> {
  const stored = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (stored) return stored;
  const secret = randomBytes(24).toString('hex');
  await writeFile(`${file}.new`, `${secret}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return secret;
}

function formatAsOneSentence(error: unknown, dataDir: string): unknown {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return createDiskFullError(path ?? dataDir);
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code ?? ''))
    return new DevStackError(
      `The data folder ${dataDir} is not writable (${code} at ${path ?? dataDir}); choose another one with --data-dir or MUSTER_DATA_DIR.`,
    );
  return error;
}
