import { join } from 'node:path';
import { type BenchStack, createDatabase } from '../bench-stack';
import { cancelAllRuns, makeBenchTenant, startApp } from '../bench-tenant';
import { Child } from '../child';

/** Size of each process's database connection pool. */
const poolSize = 10;

export interface RunSetting {
  stack: BenchStack;
  inFlight: number;
}

/** A system that runs jobs, with the worker that it pushes them to. */
export interface Subject {
  name: string;
  /** Name of the database that only this subject uses. */
  database: string;
  processes: Child[];
  worker: Child;
  launchUrl: string;
  readUrl: string;
  headers: Record<string, string>;
  /** Body of the launch request for one of the runs in flight. */
  bodyOf(slot: number): object;
  stop(): Promise<void>;
}

export async function startProgram(
  program: string,
  setting: RunSetting,
  env: Record<string, string> = {},
): Promise<Subject> {
  const { stack, inFlight } = setting;
  const database = await createDatabase(stack);
  const worker = await Child.start(join(__dirname, 'worker.js'), {});
  const child = await Child.start(join(__dirname, `${program}.js`), {
    DATABASE_URL: database,
    REDIS_URL: stack.redisUrl,
    DATABASE_POOL_SIZE: String(poolSize),
    CONCURRENCY: String(inFlight),
    WORKER_URL: worker.url,
    ...env,
  });
  await worker.askQuestion({ url: `${child.url}/api/job-webhook`, headers: {} });
  return {
    name: program,
    database: getDatabaseName(database),
    processes: [child],
    worker,
    launchUrl: `${child.url}/api/jobs/launch`,
    readUrl: `${child.url}/api/jobs`,
    headers: {},
    bodyOf: () => ({}),
    stop: async () => void (await Promise.all([child.stop(), worker.stop()])),
  };
}

const sixApps = ['gateway', 'ingest', 'dispatcher', 'scheduler', 'metering', 'feedback-sync'];

/** Starts Muster with one agent for each run in flight, as one process or as the six apps. */
export async function startMuster(
  name: string,
  { stack, inFlight }: RunSetting,
  apart: boolean,
  more: Record<string, string> = {},
): Promise<Subject> {
  const worker = await Child.start(join(__dirname, 'worker.js'), {});
  const tenant = await makeBenchTenant(stack, inFlight);
  await cancelAllRuns(stack.databaseUrl, worker.url);
  const env = {
    DATABASE_POOL_SIZE: String(poolSize),
    MASTER_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}`,
    INTERNAL_PORT: '0',
    // The simulated agents send no heartbeats.
    AGENT_OFFLINE_AFTER_MS: String(24 * 3_600_000),
    ...more,
  };
  const apps = apart ? sixApps : ['standalone'];
  const processes = await Promise.all(apps.map((app) => startApp(app, stack, env)));
  const [front, callbacks] = [processes[0]!, processes[apart ? 1 : 0]!];
  await worker.askQuestion({ url: `${callbacks.url}/api/job-webhook`, headers: { 'x-api-key': tenant.workerKey } });
  return {
    name,
    database: getDatabaseName(stack.databaseUrl),
    processes,
    worker,
    launchUrl: `${front.url}/api/jobs/launch`,
    readUrl: `${front.url}/api/jobs`,
    headers: { 'x-api-key': tenant.apiKey },
    bodyOf: (slot) => ({
      workflowId: tenant.workflowId,
      agentId: tenant.agentIds[slot],
      variables: { CLAIM_ID: 'C' },
    }),
    stop: async () => void (await Promise.all([...processes, worker].map((child) => child.stop()))),
  };
}

function getDatabaseName(databaseUrl: string): string {
  return new URL(databaseUrl).pathname.slice(1);
}
