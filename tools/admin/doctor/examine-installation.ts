import { statfs } from 'node:fs/promises';
import { connect as connectTls } from 'node:tls';
import type { Client } from 'pg';
import { migrations, filterUnknownMigrations } from '@muster/database';
import { type Environment, parseMasterKeys } from '@muster/platform';
import { connectTo, queryRows } from '../backup/dump-database';
import { findNewestBackup, listBackupTimes } from '../backup/manifest';
import type { Installation } from '../installation';
import type { Place } from '../place/place';
import { countSingleFactorSuperAdmins } from './find-single-factors';

/** A problem, and how to fix it. */
export interface Finding {
  level: 'fault' | 'warning';
  message: string;
}

export const defaultMinFreePercent = 10;

export interface ExaminedInstallation extends Installation {
  version: string;
  dataDir?: string;
  /** Minimum percentage of the disk that must be free. */
  minFreePercent: number;
  /** Location of the installation's backups. */
  backups?: Place;
  now: Date;
}

type Check = (target: ExaminedInstallation, client: Client) => Promise<Finding[]>;

const createFault = (message: string): Finding => ({ level: 'fault', message });
const createWarning = (message: string): Finding => ({ level: 'warning', message });

/** Runs all checks. A check that fails is reported as a warning. */
export async function examineInstallation(
  target: ExaminedInstallation,
): Promise<{ examined: string[]; findings: Finding[] }> {
  let client: Client;
  try {
    client = await connectTo(target.databaseUrl);
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return {
      examined: ['database'],
      findings: [createFault(`The database does not answer (${message || code}): start it, or correct DATABASE_URL.`)],
    };
  }
  const findings: Finding[] = [];
  try {
    for (const [name, check] of Object.entries(checks)) {
      const found = await check(target, client).catch((error: Error) => [
        createWarning(`The check of ${name} failed: ${error.message}`),
      ]);
      findings.push(...found);
    }
  } finally {
    await client.end();
  }
  return { examined: Object.keys(checks), findings };
}

const checks: Record<string, Check> = {
  recovery: async (_, client) => {
    const [held] = await queryRows<{ backup: string }>(client, heldBackup);
    return held
      ? [
          createWarning(
            `The backup ${held.backup} was restored, so nothing runs automatically: check its machines, then run muster-admin release.`,
          ),
        ]
      : [];
  },
  settings: async ({ environment }) => {
    const keys = environment['MASTER_KEYS'];
    return keys
      ? parseMasterKeys(keys).faults.map((each) => createFault(`${each}: secrets in the database cannot be decrypted.`))
      : [];
  },

  clocks: async (_, client) => {
    const before = Date.now();
    const [{ at }] = await queryRows<{ at: string }>(
      client,
      'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS at',
    );
    const seconds = (Number(at) - (before + Date.now()) / 2) / 1000;
    return Math.abs(seconds) > 2
      ? [
          createFault(
            `The database's clock differs from this machine's by ${Math.round(seconds)} s: synchronize both with NTP.`,
          ),
        ]
      : [];
  },

  versions: async ({ version }, client) => {
    const [{ postgres }] = await queryRows<{ postgres: string }>(
      client,
      "SELECT current_setting('server_version_num')::int / 10000 AS postgres",
    );
    const seen = (await queryRows<{ name: string }>(client, 'SELECT name FROM schema_migration')).map(
      ({ name }) => name,
    );
    const pending = migrations.filter(({ name }) => !seen.includes(name));
    const unknown = filterUnknownMigrations(seen);
    return [
      ...(Number(postgres) < 15 ? [createFault(`Postgres ${postgres} is too old: 15 or newer is required.`)] : []),
      ...(pending.length
        ? [
            createFault(
              `${pending.length} migrations of Muster ${version} have not run, the first is ${pending[0]!.name}: run them before you start its apps.`,
            ),
          ]
        : []),
      ...(unknown.length
        ? [
            createWarning(
              `The database belongs to a newer version than this muster-admin (${version}); it has the migration ${unknown.at(-1)}.`,
            ),
          ]
        : []),
    ];
  },

  apps: async ({ version }, client) => {
    const rows = await queryRows<{ app: string; appVersion: string }>(
      client,
      `SELECT DISTINCT name[1] AS app, name[2] AS "appVersion"
       FROM pg_stat_activity, regexp_match(application_name, '^muster-([a-z-]+) (\\S+)$') AS name
       WHERE datname = current_database() AND name IS NOT NULL ORDER BY 1, 2`,
    );
    return rows
      .filter(({ appVersion }) => appVersion !== version)
      .map(({ app, appVersion }) =>
        createWarning(
          `The app ${app} runs version ${appVersion} instead of ${version}: complete or undo the rollout, or use the muster-admin of that version.`,
        ),
      );
  },

  connections: async (_, client) => {
    const [{ used, most }] = await queryRows<{ used: number; most: number }>(
      client,
      "SELECT count(*)::int AS used, current_setting('max_connections')::int AS most FROM pg_stat_activity WHERE backend_type = 'client backend'",
    );
    return used > most * 0.8
      ? [
          createFault(
            `${used} of ${most} database connections are in use: lower DATABASE_POOL_SIZE or the number of replicas, or raise max_connections.`,
          ),
        ]
      : [];
  },

  locks: async (_, client) => {
    const rows = await queryRows<{ pid: number; seconds: number }>(
      client,
      `SELECT pid, extract(epoch FROM now() - xact_start)::int AS seconds FROM pg_stat_activity
       WHERE xact_start < now() - interval '10 minutes' AND backend_type = 'client backend' AND datname = current_database()`,
    );
    return rows.map(({ pid, seconds }) =>
      createWarning(
        `A transaction has been open for ${Math.round(seconds / 60)} minutes (pid ${pid}), so VACUUM cannot remove dead rows: end it with pg_terminate_backend.`,
      ),
    );
  },

  queues: async (_, client) => {
    const rows = await queryRows<{ queue: string; late: number; dead: number }>(
      client,
      `SELECT queue, count(*) FILTER (WHERE next_publish_at < now() - interval '5 minutes')::int AS late,
         count(*) FILTER (WHERE next_publish_at IS NULL)::int AS dead FROM outbox GROUP BY queue ORDER BY queue`,
    );
    return rows.flatMap(({ queue, late, dead }) => [
      ...(late
        ? [
            createFault(
              `${late} messages of the queue ${queue} have waited for more than 5 minutes: are Redis and the app that processes the queue running?`,
            ),
          ]
        : []),
      ...(dead
        ? [
            createWarning(
              `${dead} dead letters are in the queue ${queue}: read their errors under Admin › Queues, then replay or discard them.`,
            ),
          ]
        : []),
    ]);
  },

  'unsent facts': async (_, client) => {
    const [{ late }] = await queryRows<{ late: number }>(client, unsentFacts);
    return late
      ? [createFault(`${late} webhook deliveries have been due for more than 10 minutes: is feedback-sync running?`)]
      : [];
  },

  loops: async (_, client) => {
    const rows = await queryRows<{ name: string; app: string; minutes: number; error: string | null; late: boolean }>(
      client,
      `SELECT name, app, error, (extract(epoch FROM now() - began_at) / 60)::int AS minutes,
         began_at < now() - interval '5 minutes' - 10 * interval_ms * interval '1 millisecond' AS late
       FROM loop_run ORDER BY name`,
    );
    return rows.flatMap(({ name, app, minutes, error, late }) => [
      ...(late ? [createFault(`The loop “${name}” last ran ${minutes} minutes ago: is ${app} running?`)] : []),
      ...(error && !late ? [createFault(`The loop “${name}” of ${app} fails: ${error}`)] : []),
    ]);
  },

  partitions: async (_, client) => {
    const [{ ahead }] = await queryRows<{ ahead: boolean }>(
      client,
      `SELECT to_regclass('timeline_entry_' || to_char((now() AT TIME ZONE 'UTC') + interval '1 month', 'YYYYMM')) IS NOT NULL AS ahead`,
    );
    return ahead
      ? []
      : [
          createFault(
            'The timeline has no partition for the next month; without it no machine can report then. Is the scheduler running?',
          ),
        ];
  },

  bloat: async (_, client) => {
    const rows = await queryRows<{ name: string; dead: number; live: number }>(
      client,
      `SELECT relname AS name, n_dead_tup::int AS dead, n_live_tup::int AS live FROM pg_stat_user_tables
       WHERE n_dead_tup > 20000 AND n_dead_tup > 0.5 * n_live_tup ORDER BY n_dead_tup DESC LIMIT 10`,
    );
    const invalid = await queryRows<{ name: string }>(
      client,
      `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       WHERE NOT i.indisvalid AND c.relnamespace = 'public'::regnamespace`,
    );
    return [
      ...rows.map(({ name, dead, live }) =>
        createWarning(
          `The table ${name} has ${dead} dead rows and ${live} live rows: run VACUUM ${name}, and look for transactions that stay open.`,
        ),
      ),
      ...invalid.map(({ name }) =>
        createFault(`The index ${name} is invalid: run DROP INDEX CONCURRENTLY ${name}, and create it again.`),
      ),
    ];
  },

  workers: async ({ version }, client) => {
    const rows = await queryRows<{ worker: string; machines: number }>(
      client,
      `SELECT worker_version AS worker, count(*)::int AS machines FROM agent
       WHERE worker_version IS NOT NULL AND status IN ('online', 'draining') GROUP BY 1 ORDER BY 1`,
    );
    return rows
      .filter(({ worker }) => worker !== version)
      .map(({ worker, machines }) =>
        createWarning(
          `${machines} connected machines run worker ${worker} instead of ${version}: run muster worker upgrade.`,
        ),
      );
  },

  bucket: async ({ storage }) => {
    const key = 'health/doctor';
    try {
      await storage.put(key, Buffer.from('x'), 'text/plain');
      if ((await storage.get(key))?.toString() !== 'x')
        return [createFault('An object that was read from the bucket differs from the one that was written.')];
      await storage.delete(key);
      return [];
    } catch (error) {
      return [
        createFault(
          `An object could not be written, read and deleted in the bucket (${(error as Error).message}): check S3_* and the bucket's policy.`,
        ),
      ];
    }
  },

  disk: async ({ dataDir, minFreePercent }) => {
    if (!dataDir) return [];
    const { bavail, blocks } = await statfs(dataDir);
    const percent = Math.floor((100 * bavail) / blocks);
    return percent < minFreePercent
      ? [
          createFault(
            `The disk of ${dataDir} has ${percent} % free space, less than ${minFreePercent} %: free some before Postgres stops.`,
          ),
        ]
      : [];
  },

  'second factors': async ({ environment }, client) => {
    const users = await countSingleFactorSuperAdmins(client, environment);
    return users
      ? [
          createWarning(
            `${users} super_admins can sign in with a password alone at ${environment['PUBLIC_APP_URL']}: set up a second factor in Settings → Security, or require one in Settings → Sign-in.`,
          ),
        ]
      : [];
  },

  certificate: async ({ environment, now }) => {
    const days = await countCertificateDays(environment, now);
    return days !== null && days < 14
      ? [createFault(`The certificate of ${environment['PUBLIC_APP_URL']} expires in ${days} days: renew it.`)]
      : [];
  },

  backups: async ({ backups, now }) => {
    if (!backups)
      return [
        createWarning('The age of the newest backup was not checked: set --backups to the location of the backups.'),
      ];
    const newest = findNewestBackup(await listBackupTimes(backups));
    if (!newest) return [createFault(`There is no complete backup in ${backups.name}: run muster-admin backup.`)];
    const hours = Math.floor((now.getTime() - newest.savedUntil.getTime()) / 3_600_000);
    return hours > 26
      ? [createFault(`The newest backup is ${hours} hours old: check the schedule that runs muster-admin backup.`)]
      : [];
  },
};

const unsentFacts = `
  SELECT count(*)::int AS late FROM webhook_delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id
  WHERE d.status = 'pending' AND d.due_at < now() - interval '10 minutes' AND (e.enabled OR d.asked)`;

/** Number of days until the address's certificate expires; null without TLS. */
function countCertificateDays({ PUBLIC_APP_URL }: Environment, now: Date): Promise<number | null> {
  if (!PUBLIC_APP_URL?.startsWith('https:')) return Promise.resolve(null);
  const { hostname, port } = new URL(PUBLIC_APP_URL);
  return new Promise((resolve, reject) => {
    const target = { host: hostname, port: Number(port || 443), servername: hostname, rejectUnauthorized: false };
    const socket = connectTls({ ...target, timeout: 5000 }, () => {
      const { valid_to: until } = socket.getPeerCertificate();
      socket.destroy();
      resolve(Math.floor((Date.parse(until) - now.getTime()) / 86_400_000));
    });
    socket.once('error', reject);
    socket.once('timeout', () => socket.destroy(new Error(`${hostname} does not answer`)));
  });
}

const heldBackup = 'SELECT backup FROM recovery_hold WHERE released_at IS NULL';
