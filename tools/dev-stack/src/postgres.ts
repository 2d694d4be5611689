import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, type ClientConfig } from 'pg';
import { ensureCluster, readMajorVersion, chooseClusterPlace } from './postgres-cluster';
import { findPostgres, buildProgramEnv, type PostgresPlaces } from './postgres-install';
import { choosePostgresUser } from './choose-postgres-user';
import { DevStackError, createDiskFullError, readProcessIdentity } from './process';
import { type PartSetting, type PreparedPart } from './server';

/** Finds a Postgres, creates the database if it does not exist, and returns how to start the server. */
export async function preparePostgres(setting: PartSetting, places?: PostgresPlaces): Promise<PreparedPart> {
  const { folder, env, password, writableCache } = setting;
  const user = await choosePostgresUser(env);
  const place = await chooseClusterPlace(setting, user);
  const { data, outside } = place;
  const copyFolder = async () => {
    if (outside || !user.isAnother) return outside ?? writableCache();
    await mkdir(join(folder, 'programs'), { recursive: true, mode: 0o755 });
    return join(folder, 'programs');
  };
  const dataMajor = (await readMajorVersion(data)) ?? setting.postgresMajor;
  const install = await findPostgres({ places, env, user, dataMajor, dataFolder: data, copyFolder });
  await ensureCluster(setting, { place, install, user });

  const buildConnection = (port: number): ClientConfig => ({
    host: '127.0.0.1',
    port,
    user: 'muster',
    password,
    database: 'muster',
    ssl: false,
    connectionTimeoutMillis: 2_000,
    query_timeout: 5_000,
  });
  return {
    source: install.source,
    url: (port) => `postgres://muster:${password}@127.0.0.1:${port}/muster`,
    spec: {
      part: 'postgres',
      name: 'Postgres',
      folder,
      dataFolder: data,
      programs: ['postgres'],
      fixedPort: setting.fixedPort,
      launch: (port) =>
        user.as({
          command: [join(install.bin, 'postgres'), '-D', data, ...buildFlags(port, setting.durable)],
          env: buildProgramEnv(env),
        }),
      beforeStart: () => removeStalePidFile(data),
      answers: (port) => readVersionIfOwn(buildConnection(port), data),
      stopSignal: 'SIGINT', // fast shutdown: open connections are closed, no data is lost
      orphanSignal: 'SIGQUIT', // immediate shutdown, also of busy backends; the next start recovers
    },
  };
}

/** Returns the major version of the Postgres that creates new databases on this machine. */
export async function findPreferredMajor(dataDir: string, env: NodeJS.ProcessEnv): Promise<number> {
  const copyFolder = async () => {
    await mkdir(join(dataDir, 'cache'), { recursive: true, mode: 0o755 });
    return join(dataDir, 'cache');
  };
  const user = await choosePostgresUser(env);
  return (await findPostgres({ env, user, dataFolder: dataDir, copyFolder })).major;
}

/** Returns the version of an external Postgres. */
export async function readPostgresVersion(connectionString: string): Promise<string> {
  const [row] = await queryRows<{ server_version: string }>(
    { connectionString, connectionTimeoutMillis: 5_000, query_timeout: 5_000 },
    'SHOW server_version',
  );
  return row!.server_version;
}

function buildFlags(port: number, durable: boolean): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    password_encryption: 'scram-sha-256',
    max_connections: 200,
    shared_buffers: '128MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_destination: 'stderr',
    logging_collector: 'off',
    log_line_prefix: '%m [%p] ',
    jit: 'off', // queries are short: compiling them costs more than running them
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

// Postgres refuses to start if the pid in a stale postmaster.pid is in use, even by an unrelated process.
async function removeStalePidFile(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const pid = parseInt(await readFile(file, 'utf8').catch(() => ''), 10);
  if (pid && (await readProcessIdentity(pid))) await rm(file, { force: true });
}

async function readVersionIfOwn(connection: ClientConfig, data: string): Promise<string | undefined> {
  try {
    const [row] = await queryRows<{ version: string; folder: string }>(
      connection,
      `SELECT current_setting('server_version') AS version, current_setting('data_directory') AS folder`,
    );
    return row?.folder === data ? row.version.split(' ')[0] : undefined;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === '3D000') return createDatabase(connection, data);
    if (code === '53100') throw createDiskFullError(data);
    // A server that rejects the password is this Postgres only if its pid file says that it is ready.
    if (code === '28P01' && /^ready/m.test(await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')))
      throw new DevStackError(
        `The database in ${data} does not accept the password in the file "password" next to it; restore that file, or start with --reset.`,
      );
    return undefined;
  }
}

async function createDatabase(connection: ClientConfig, data: string): Promise<undefined> {
  try {
    await queryRows({ ...connection, database: 'postgres', query_timeout: 30_000 }, 'CREATE DATABASE muster');
  } catch (error) {
    if ((error as { code?: string }).code === '53100') throw createDiskFullError(data);
  }
}

async function queryRows<Row>(connection: ClientConfig, sql: string): Promise<Row[]> {
  const client = new Client(connection);
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(sql)).rows as Row[];
  } finally {
    await client.end().catch(() => undefined);
  }
}
