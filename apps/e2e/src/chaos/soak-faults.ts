import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceApp } from '@muster/contracts';
import { waitFor } from '@muster/testing';
import { Redis } from 'ioredis';
import { fetchFaketime } from '../../../../tools/dev-stack/src/faketime';
import type { ChaosStage } from './chaos-stage';
import type { DatabaseAddress } from './database-address';
import { Standby } from '../replica/standby';
import type { createSeededRandom } from '../seed';

type Random = ReturnType<typeof createSeededRandom>;

/** Time that a fault lasts, in milliseconds. */
const faultMs = 5000;
/** Largest jump of a clock in seconds. Two apps may so be twice as far apart. */
const maxJumpSeconds = 60;

/** The clocks of the apps, which jump while the apps run. */
export class JumpingClocks {
  private constructor(
    private readonly library: string,
    private readonly folder: string,
  ) {}

  static async open(): Promise<JumpingClocks> {
    const library = await fetchFaketime({ env: process.env, onProgress: () => undefined });
    if (typeof library !== 'string') throw new Error(`libfaketime is not available: ${library.join('; ')}`);
    return new JumpingClocks(library, await mkdtemp(join(tmpdir(), 'muster-clocks-')));
  }

  /** Returns the environment of an app whose clock is read from a file, at most once a second. */
  async buildEnv(app: ServiceApp): Promise<NodeJS.ProcessEnv> {
    await this.set(app, 0);
    return {
      LD_PRELOAD: this.library,
      FAKETIME_TIMESTAMP_FILE: this.getFile(app),
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  async set(app: ServiceApp, aheadSeconds: number): Promise<void> {
    await writeFile(this.getFile(app), `${aheadSeconds < 0 ? '-' : '+'}${Math.abs(aheadSeconds)}s\n`);
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    await rm(dirname(this.library), { recursive: true, force: true });
  }

  private getFile(app: ServiceApp): string {
    return join(this.folder, app);
  }
}

/** Makes the clock of one app jump ahead or back. Returns the function that sets it right. */
export async function jumpClock(
  stage: ChaosStage,
  clocks: JumpingClocks,
  random: Random,
): Promise<() => Promise<void>> {
  const apps = [...stage.services.keys()];
  const app = apps[random.between(0, apps.length - 1)]!;
  await clocks.set(app, random.between(-maxJumpSeconds, maxJumpSeconds));
  return async () => {
    await sleep(faultMs);
    await clocks.set(app, 0);
  };
}

const tables = ['job', 'outbox', 'agent_command', 'timeline_entry', 'usage_event'];

/** Makes Postgres refuse rows as it does when its disk is full. Returns the function that makes room. */
export async function fillDisk({ fixture }: ChaosStage): Promise<() => Promise<void>> {
  const run = (sql: string) => waitFor('a statement of the test', () => fixture.query(sql), 60_000);
  /** Statements of other transactions wait behind one that waits for its lock, so it waits only briefly. */
  const runBriefly = (sql: string) => run(`DO $do$ BEGIN SET LOCAL lock_timeout = '1s'; ${sql}; END $do$`);
  await run(`
    CREATE OR REPLACE FUNCTION chaos_no_room() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`);
  for (const table of tables)
    await runBriefly(`CREATE OR REPLACE TRIGGER chaos_no_room BEFORE INSERT ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION chaos_no_room()`);
  return async () => {
    await sleep(faultMs);
    for (const table of tables) await runBriefly(`DROP TRIGGER IF EXISTS chaos_no_room ON ${table}`);
  };
}

/** Makes Redis refuse to write, as it does when its memory is full. Returns the function that makes room. */
export async function fillRedis(stage: ChaosStage): Promise<() => Promise<void>> {
  await setMaxMemory(stage, 1);
  return async () => {
    await sleep(faultMs);
    await setMaxMemory(stage, 0);
  };
}

/** Sets Redis's limit in bytes; 0 stands for none. A restarted Redis has none either. */
async function setMaxMemory({ fixture }: ChaosStage, bytes: number): Promise<void> {
  const client = new Redis(fixture.stack.redisUrl, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.config('SET', 'maxmemory', String(bytes));
  } catch {
    // Redis was killed at this moment.
  } finally {
    client.disconnect();
  }
}

/** A standby that follows the database during the whole test, and replaces it at the end. */
export class Failover {
  private constructor(
    private readonly stage: ChaosStage,
    private readonly address: DatabaseAddress,
    private readonly standby: Standby,
  ) {}

  static async open(stage: ChaosStage, address: DatabaseAddress): Promise<Failover> {
    // The standby reads what it misses after a restart of the primary.
    await stage.fixture.query(`ALTER SYSTEM SET wal_keep_size = '2GB'`);
    await stage.fixture.query('SELECT pg_reload_conf()');
    return new Failover(stage, address, await Standby.start(stage.fixture.stack.databaseUrl));
  }

  /**
   * Kills the primary and promotes the standby. Before, the primary acknowledges only transactions that the standby has
   * stored, as a deployment that must not lose any is configured.
   */
  async run(): Promise<void> {
    const { fixture } = this.stage;
    await waitFor(
      'the setting of the primary',
      () => this.stage.queryOrNull(`ALTER SYSTEM SET synchronous_standby_names = '*'`),
      60_000,
    );
    await waitFor(
      'the standby to be synchronous',
      async () => {
        const rows = await this.stage.queryOrNull<{ state: string }>(
          'SELECT pg_reload_conf(), (SELECT min(sync_state) FROM pg_stat_replication) AS state',
        );
        return rows?.[0]?.state === 'sync';
      },
      60_000,
    );
    const { postgres } = fixture.stack;
    process.kill(postgres!.pid, 'SIGKILL');
    await postgres!.stop();
    await this.standby.run('SELECT pg_promote()');
    this.address.forwardTo(this.standby.url);
  }

  async close(): Promise<void> {
    await this.standby.stop();
  }
}
