import type { EventEmitter } from 'node:events';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { channel } from 'node:diagnostics_channel';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, HttpClient, isLongRun, readTestStack, waitFor } from '@muster/testing';
import type { Browser } from 'playwright-core';
import { findChromiumPath, launchBrowser } from './console/console-browser';
import { Start } from './npm-start';
import { root } from './service-process';

export type Person = [email: string, password: string];

/** The address and the accounts of a started service. */
export interface ServiceFacts {
  address: string;
  admin: Person;
  superAdmin: Person;
  dataDir: string;
}

let browser: Promise<Browser> | undefined;

/** Returns the one browser for all spec files of this process. */
export function getSharedBrowser(): Promise<Browser> {
  channel('muster:browser').publish({});
  browser ??= launchBrowser(findChromiumPath()!).then((launched) => {
    // An open browser would keep this process running.
    (process as EventEmitter).once('muster:tests-ended', () => void launched.close());
    return launched;
  });
  return browser;
}

/**
 * Returns the service that spec files share; the first file that needs it starts it. The short suite has one service,
 * because a start costs more than the few files that use it. In the long suite each worker process of Jest has its own.
 * tools/test/global-teardown.cjs stops them.
 */
async function getSharedService(): Promise<ServiceFacts> {
  channel('muster:service').publish({});
  const name = isLongRun() ? `worker-${process.env['JEST_WORKER_ID']}` : 'all';
  const file = join(readTestStack().servicesDir, `${name}.json`);
  if (tryCreateFile(`${file}.claimed`)) {
    const { start, ...facts } = await startService({}, buildWatchdogCommand(process.ppid));
    start.unref();
    writeFileSync(`${file}.written`, JSON.stringify({ ...facts, pid: start.pid }));
    renameSync(`${file}.written`, file);
  }
  await waitFor('the shared service', () => existsSync(file), 120_000);
  return JSON.parse(readFileSync(file, 'utf8')) as ServiceFacts;
}

/** Whether this process was the first one, because it could create the file. */
function tryCreateFile(file: string): boolean {
  try {
    writeFileSync(file, '', { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Wraps a command so that it ends when the process `run` ends. `npm start` ends with its parent process, and a worker
 * process of Jest may end before the run.
 */
function buildWatchdogCommand(run: number): string[] {
  const script = `trap 'kill $own' TERM
"$@" & own=$!
while [ -e /proc/${run} ] && kill -0 $own; do sleep 1; done
kill $own
wait`;
  return ['sh', '-c', script, 'sh'];
}

/** A separate organization for a spec file, in the shared service. */
export interface Practice extends ServiceFacts {
  name: string;
  /** Client that is signed in as the organization's administrator. */
  api: HttpClient;
  /** API key of the organization. */
  apiKey: string;
}

export async function openPracticeOrganization(): Promise<Practice> {
  const service = await getSharedService();
  const { address, superAdmin } = service;
  const name = `Practice ${randomUUID().slice(0, 8)}`;
  const admin: Person = [`admin@${name.slice(9)}.example`, 'a good password'];
  const root = await new HttpClient(address).signIn(...superAdmin);
  const [adminEmail, adminPassword] = admin;
  const created = await root.post('/api/admin/organizations', { name, adminEmail, adminPassword });
  if (created.status !== 201)
    throw new Error(`creating an organization failed with ${created.status}: ${created.text}`);
  const api = await new HttpClient(address).signIn(...admin);
  const { secret: apiKey } = (await api.post('/api/api-keys', { name: 'Tests', scope: 'api' })).body;
  return { ...service, name, admin, api, apiKey };
}

/** Runs `npm start` with its example in a new data folder. */
export async function startService(
  env: NodeJS.ProcessEnv = {},
  commandPrefix: string[] = [],
): Promise<ServiceFacts & { start: Start }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-console-'));
  const port = await findFreePort();
  const start = new Start(['--port', String(port), '--data-dir', dataDir], env, commandPrefix);
  await start.waitUntilReady();
  await waitFor('the example', () => /\/app\/runs\/\S+/.exec(start.output));
  const makePerson = (role: string): Person => {
    const [, email, password] = new RegExp(`^ +${role} +(\\S+@\\S+) +(\\S+)`, 'm').exec(start.output)!;
    return [email!, password!];
  };
  const people = { admin: makePerson('admin'), superAdmin: makePerson('super admin') };
  return { address: `http://127.0.0.1:${port}`, ...people, dataDir, start };
}

/** Creates the example of the first start: an agent, a workflow and a run. */
export async function createExampleData(api: HttpClient): Promise<void> {
  const script = readFileSync(join(root, 'tools/start/demo_workflow.py'), 'utf8');
  const [agent, workflow] = await Promise.all([
    api.post('/api/agents', { name: 'Demo agent', provider: 'local', labels: ['demo'] }),
    api.post('/api/workflows', { name: 'Hello, Muster', variables: ['GREETING'], script }),
  ]);
  const launched = await api.post('/api/jobs/launch', {
    agentId: agent.body.agent.id,
    workflowId: workflow.body.id,
    variables: { GREETING: 'Good morning' },
  });
  if (launched.status !== 202)
    throw new Error(`launching the example failed with ${launched.status}: ${launched.text}`);
}

/** Deletes all agents, so that no worker of one spec file keeps running during the next one. */
export async function removeAllAgents(api: HttpClient): Promise<void> {
  const { agents } = (await api.get('/api/agents?limit=200')).body;
  await Promise.all(agents.map(({ id }: { id: string }) => api.delete(`/api/agents/${id}?force=true`)));
}
