import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { unconfined } from './confinement';
import { LocalMachines } from './local-machines';
import { type LocalAgents, WorkerSupervision } from './worker-supervision';

/** A worker that records its boots. Files in the root folder make it crash, ignore SIGTERM or start children. */
const worker = `
const fs = require('node:fs'), { spawn } = require('node:child_process'), { join } = require('node:path');
const dir = process.env.MUSTER_WORKER_DIR;
fs.appendFileSync(join(dir, 'boots'), process.pid + '\\n');
fs.writeFileSync(join(dir, 'env.json'), JSON.stringify(process.env));
const does = (name) => fs.existsSync(join(dir, '../..', name));
if (does('crash')) { console.error('cannot continue'); process.exit(3); }
if (does('stubborn')) process.on('SIGTERM', () => {});
if (does('children')) {
  const stubborn = "process.on('SIGTERM',()=>{});setInterval(()=>{},1000)";
  spawn(process.execPath, ['-e', stubborn], { stdio: 'ignore' });
  spawn(process.execPath, ['-e', stubborn], { stdio: 'ignore', detached: true, env: {} });
  spawn(process.execPath, ['-e', stubborn], { stdio: 'ignore', detached: true, env: { MUSTER_RUN_ROOT: join(dir, 'runs/1') } });
}
console.log('awake');
setInterval(() => {}, 1000);
`;

export interface LocalFixture {
  root: string;
  machines: LocalMachines;
  supervision: WorkerSupervision;
  statuses: Map<string, string>;
  abandoned: [string, string][];
  agents: LocalAgents;
}

const fixtures: { root: string; supervision: WorkerSupervision }[] = [];

export async function makeFolder(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'muster-local-'));
  await writeFile(join(root, 'worker.cjs'), worker);
  return root;
}

export async function startSupervision(root: string, settings: object = {}): Promise<LocalFixture> {
  const machines = new LocalMachines(root, 20_000);
  const supervision = new WorkerSupervision({
    machines,
    program: join(root, 'worker.cjs'),
    serviceUrl: 'http://127.0.0.1:1',
    baseEnv: { PATH: process.env['PATH']! },
    confinement: unconfined,
    graceMs: 300,
    roundMs: 50,
    leaseMs: 50,
    restartDelayMs: 10,
    ...settings,
  });
  const statuses = new Map<string, string>();
  const abandoned: [string, string][] = [];
  const agents: LocalAgents = {
    readAgentKey: () => Promise.resolve('msk_key'),
    readStatuses: (ids) => Promise.resolve(new Map(ids.map((id) => [id, statuses.get(id) ?? 'online']))),
    recordAbandonedWorker: (...report) => Promise.resolve(void abandoned.push(report)),
  };
  await supervision.startSupervision(agents);
  fixtures.push({ root, supervision });
  return { root, machines, supervision, statuses, abandoned, agents };
}

/** Returns every process with a variable in its environment that points into the folder. */
export function findProcessesIn(root: string): number[] {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state]) => !state!.startsWith('Z'));
  const hasMark = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`=${root}/`);
    } catch {
      return false;
    }
  };
  return rows.filter(([pid]) => hasMark(pid!)).map(([pid]) => Number(pid));
}

export async function readWorkerBoots(root: string, agentId: string): Promise<string[]> {
  const text = await readFile(join(root, agentId, 'machine/boots'), 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean);
}

export async function waitForWorker({ root }: { root: string }, agentId: string): Promise<number> {
  return waitFor('a worker', async () => {
    const pid = Number((await readWorkerBoots(root, agentId)).at(-1));
    return pid && existsSync(`/proc/${pid}`) ? pid : null;
  });
}

/** Ends the supervisions of each test, and checks that no process is left. */
export function useLocalAgentFixtures(): void {
  afterEach(async () => {
    const all = fixtures.splice(0);
    // The newest supervision ends first, because it may be waiting for an older one’s folder and would take that over.
    for (const { supervision } of [...all].reverse()) await supervision.endAllWorkers();
    for (const { root } of all) {
      expect(findProcessesIn(root)).toEqual([]);
      await rm(root, { recursive: true, force: true });
    }
  });
}
