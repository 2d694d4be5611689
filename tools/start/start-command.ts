import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type DevStack, startDevStack } from '../dev-stack/src/dev-stack';
import { endWithinMs, markLockAsEnding, waitForEndOf } from '../dev-stack/src/folder-lock';
import { type ObjectStore, startObjectStore } from '../dev-stack/src/object-store/object-store';
import { closeOutput } from './close-output';
import { describeProcesses, readUsableCores } from './core-share';
import { ensureDemo } from './demo';
import { findImaging } from './find-imaging';
import {
  type FirstCredentials,
  readOrCreateFirstCredentials,
  deleteFirstCredentials,
  chooseMasterKeys,
  readOrCreateSecrets,
} from './stored-secrets';
import { throwIfRestoreUnfinished } from './throw-if-restore-unfinished';
import { buildLocalAddress, parseOptions, StartError, type StartOptions, usage } from './options';
import { runPostgresUpgrade } from './postgres/run-upgrade';
import { Preparation } from './preparation';
import { Service } from './service';

export interface StartInput {
  args: string[];
  env: NodeJS.ProcessEnv;
  root: string;
  phases: Phases;
  say: (line: string) => void;
}

/** Phases of the start: tools/start/phases.mjs. */
interface Phases {
  times: [string, number][];
  runPhase<T>(name: string, work: () => Promise<T>): Promise<T>;
}

/** Starts everything on one port and runs until it receives a stop signal. */
export async function runStartCommand({ args, env, root, phases, say }: StartInput): Promise<void> {
  const options = parseOptions(args, env, root);
  if (options.help) return void process.stdout.write(usage);
  const { dataDir, port } = options;
  await throwIfRestoreUnfinished(dataDir);
  await phases.runPhase('end of the previous start', () => waitForPreviousStart(options, say));

  const running: { preparation?: Preparation; stack?: DevStack; store?: ObjectStore; service?: Service } = {};
  const stopAll = async () => {
    await markLockAsEnding(dataDir);
    running.preparation?.endProcess();
    await running.service?.stop(18_000);
    // A service that was being restarted had not connected to its workers yet.
    await endRemainingWorkers(join(dataDir, 'agents'));
    await Promise.all([running.store?.stop(), running.stack?.stop()]);
  };
  endOnSignals(stopAll, say);

  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 }).catch((error: Error) => {
      throw new StartError(
        `The data folder ${dataDir} cannot be created (${error.message.split(',')[0]}); choose another with --data-dir.`,
      );
    });
    if (!options.reset) await runPostgresUpgrade(dataDir, env, say);
    const preparation = (running.preparation = new Preparation(env));
    const stackStarted = startDevStack({
      dataDir,
      durability: 'durable',
      keepAlive: true,
      reset: options.reset,
      env,
      onProgress: say,
    });
    const imagingFound = findImaging({ dataDir, env, say });
    running.stack = await phases.runPhase('Postgres and Redis', () => stackStarted);
    if (options.reset) await deleteData(dataDir);
    const secrets = await readOrCreateSecrets(dataDir);
    const masterKeys = chooseMasterKeys(secrets, env);
    const s3 = env['S3_ENDPOINT']
      ? {}
      : await phases.runPhase('object store', () => startObjectStoreAndGetEnv(running, dataDir, secrets));
    const { databaseUrl, redisUrl } = running.stack;
    const ready = await phases.runPhase('migrations', () =>
      preparation.runPreparation({ databaseUrl, dataDir, backup: options.backup && !env['DATABASE_URL'] }, say),
    );
    if (ready.migrated.length) say(`migrated: ${ready.migrated.length} steps`);
    const first = ready.hasOrganization ? null : await readOrCreateFirstCredentials(dataDir, env);
    const imaging = await imagingFound;
    const service = (running.service = new Service({
      main: join(root, 'dist/apps/standalone/src/main.js'),
      processes: options.processes,
      logFile: join(dataDir, 'muster.log'),
      say,
      env: {
        CRON_SECRET: secrets.cronSecret,
        SHUTDOWN_TIMEOUT_MS: '15000',
        LOCAL_AGENTS: 'true',
        LOCAL_AGENTS_DIR: join(dataDir, 'agents'),
        LOCAL_SERVICE_URL: buildLocalAddress(options),
        // Outbound requests may reach this computer, but no other private address.
        OUTBOUND_ALLOW: '127.0.0.0/8,::1,localhost',
        ...s3,
        ...removeEmptyVariables(env),
        ...imaging,
        ...first,
        MASTER_KEYS: masterKeys,
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl,
        PORT: String(port),
        HOST: options.host,
      },
    }));
    const { internalPorts } = await phases.runPhase('service', () => service.start());
    printStarted({ options, first, internalPorts, times: phases.times });
    const warning = await ready.warning;
    if (warning) say(warning);
    if (first && options.demo) await showDemo(buildLocalAddress(options), first, say);
    if (first) await deleteFirstCredentials(dataDir);
  } catch (error) {
    await stopAll();
    throw error;
  }
}

async function showDemo(address: string, first: FirstCredentials, say: (line: string) => void): Promise<void> {
  const { BOOTSTRAP_ADMIN_EMAIL: email, BOOTSTRAP_ADMIN_PASSWORD: password } = first;
  try {
    const jobId = await ensureDemo({ address, email, password });
    say(`“Hello, Muster” runs on the demo agent: ${address}/app/runs/${jobId}`);
  } catch (error) {
    say(`the example could not be created: ${(error as Error).message}`);
  }
}

async function startObjectStoreAndGetEnv(
  running: { store?: ObjectStore },
  dataDir: string,
  secrets: { s3AccessKeyId: string; s3SecretAccessKey: string },
): Promise<Record<string, string>> {
  const credentials = { accessKeyId: secrets.s3AccessKeyId, secretAccessKey: secrets.s3SecretAccessKey };
  const folder = join(dataDir, 'object-store');
  running.store = await startObjectStore({ dataDir: folder, buckets: ['muster'], credentials });
  // muster-admin reads this file: only one process may open the store's files, so it connects to the store.
  await writeFile(join(folder, 'endpoint'), `${running.store.endpoint}\n`);
  return {
    S3_ENDPOINT: running.store.endpoint,
    S3_THROUGH_SERVICE: 'true',
    S3_BUCKET: 'muster',
    S3_REGION: 'us-east-1',
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
}

async function deleteData(dataDir: string): Promise<void> {
  for (const name of [
    'agents',
    'object-store',
    'secrets.json',
    'first-start.json',
    'muster.log',
    'muster.log.1',
    'version',
  ]) {
    await rm(join(dataDir, name), { recursive: true, force: true });
  }
}

function endRemainingWorkers(folder: string): Promise<void> {
  return new Promise((resolve) => {
    if (!existsSync(folder)) return resolve();
    const ending = fork(join(__dirname, 'end-left-workers.js'), [folder], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      detached: true,
    });
    ending.once('error', () => resolve());
    ending.once('exit', () => resolve());
  });
}

/** Waits for a previous start that is ending. It releases the port and the folder step by step. */
async function waitForPreviousStart(options: StartOptions, say: (line: string) => void): Promise<void> {
  const onWait = (pid: number) =>
    say(`waiting for another Muster that is shutting down in this data folder (pid ${pid})`);
  const deadline = Date.now() + endWithinMs;
  const before = await waitForEndOf(options.dataDir, { onWait });
  // A process that keeps the folder probably uses the port too; the error about the folder is the more useful one.
  while (before !== 'held') {
    try {
      return await requireFreePort(options);
    } catch (error) {
      // Processes that a killed Muster started end a little later than Muster itself.
      if (before === 'free' || Date.now() > deadline) throw error;
      await delay(100);
    }
  }
}

function requireFreePort({ port, host }: StartOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', ({ code }: NodeJS.ErrnoException) => {
      const reason =
        code === 'EACCES'
          ? `Port ${port} may not be used by this user; choose one above 1023: npm start -- --port 3000.`
          : code === 'EADDRINUSE'
            ? `Port ${port} is used by another program; choose a free one: npm start -- --port ${port + 1}.`
            : `Port ${port} on ${host} cannot be listened on (${code}).`;
      reject(new StartError(reason));
    });
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}

/** Removes empty variables: an empty variable counts as not set. */
function removeEmptyVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

function endOnSignals(stop: () => Promise<void>, say: (line: string) => void): void {
  let ending = false;
  const endOnce = () => {
    if (ending) return;
    ending = true;
    say('stopping');
    setTimeout(() => process.exit(1), 28_000).unref();
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, endOnce);
  // npm that was killed with SIGKILL forwards no signal; then the parent process changes.
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && endOnce(), 1000).unref();
}

interface Announcement {
  options: StartOptions;
  first: FirstCredentials | null;
  internalPorts: number[];
  times: [string, number][];
}

function printStarted({ options, first, internalPorts, times }: Announcement): void {
  const address = buildLocalAddress(options);
  const total = times.reduce((sum, [, ms]) => sum + ms, 0);
  const lasted = times.filter(([, ms]) => ms >= 5);
  const parts = lasted.map(([name, ms]) => `${name} ${(ms / 1000).toFixed(2)}`).join(', ');
  const lines = [
    '',
    `Muster is ready at ${address}`,
    `  console        ${address}/app`,
    `  API reference  ${address}/api/docs`,
    `  command line   npx nx one-file cli && node dist/cli/muster.js login --url ${address}`,
    `  data           ${options.dataDir}`,
    `  processes      ${describeProcesses(options.processes, readUsableCores())}`,
    ...internalPorts.map((port) => `  metrics        http://127.0.0.1:${port}/metrics`),
    `  ready in ${(total / 1000).toFixed(2)} s (${parts})`,
    '',
  ];
  if (first) {
    closeOutput(1);
    lines.push(
      'Shown only once:',
      `  organization   ${first.BOOTSTRAP_ORGANIZATION}`,
      `  admin          ${first.BOOTSTRAP_ADMIN_EMAIL}  ${first.BOOTSTRAP_ADMIN_PASSWORD}`,
      `  super admin    ${first.BOOTSTRAP_SUPER_ADMIN_EMAIL}  ${first.BOOTSTRAP_SUPER_ADMIN_PASSWORD}`,
      `  API key        ${first.BOOTSTRAP_API_KEY}`,
      `  worker key     ${first.BOOTSTRAP_WORKER_KEY}`,
      '',
    );
  }
  console.log(lines.join('\n'));
}
