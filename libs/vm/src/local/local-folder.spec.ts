import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { makeTestMachine } from '../conformance';
import { endWorkers } from './end-workers';
import {
  makeFolder,
  findProcessesIn,
  startSupervision,
  useLocalAgentFixtures,
  waitForWorker,
} from './local-fixture.harness';
import { LocalMachines } from './local-machines';

useLocalAgentFixtures();

describe('the folder of local agents', () => {
  it('a folder of local agents has one supervisor, which also executes the orders of other processes', async () => {
    const root = await makeFolder();
    const first = await startSupervision(root);
    const second = await startSupervision(root);
    expect([first.supervision.isSupervising, second.supervision.isSupervising]).toEqual([true, false]);
    const machine = makeTestMachine();
    await second.machines.start(machine);
    expect((await second.machines.describe(machine)).state).toBe('running');
    await second.machines.stop(machine);
    expect(findProcessesIn(root)).toEqual([]);
    await second.machines.start(machine);
    await first.supervision.endAllWorkers();
    await waitFor('the other one', () => second.supervision.isSupervising);
    await waitFor('it runs', async () => (await second.machines.describe(machine)).state === 'running');
  });

  it('endWorkers ends the workers that a killed service left running, but not those of a running service', async () => {
    const root = await makeFolder();
    const machine = makeTestMachine();
    const script = join(root, 'service.cjs');
    await writeFile(script, writeServiceScript(root, machine.agentId));
    const service = spawn(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit'] });
    const gone = new Promise((resolve) => service.once('exit', resolve));
    const pid = await waitForWorker({ root }, machine.agentId);
    await waitFor('the service’s record', () => existsSync(join(root, machine.agentId, 'worker.json')));
    await endWorkers(root);
    expect(findProcessesIn(root)).toEqual([pid]);
    service.kill('SIGKILL');
    await gone;
    await endWorkers(root);
    expect(findProcessesIn(root)).toEqual([]);
    const next = await startSupervision(root);
    await waitFor('it runs again', async () => (await next.machines.describe(machine)).state === 'running');
  });

  it('an order for a local agent fails after its time limit if no process supervises the folder', async () => {
    const machines = new LocalMachines(await makeFolder(), 100);
    await expect(machines.start(makeTestMachine())).rejects.toMatchObject({ fault: 'unreachable' });
  });

  it('a service with local agents turned off does not supervise the folder of local agents', async () => {
    const root = await makeFolder();
    const machine = makeTestMachine();
    await new LocalMachines(root).openFolder(machine.agentId).writeDesiredState('running');
    const { supervision, machines } = await startSupervision(root, { enabled: false });
    expect(supervision.isSupervising).toBe(false);
    expect((await machines.describe(machine)).state).toBe('starting');
    expect(findProcessesIn(root)).toEqual([]);
  });

  it('an order for a local agent fails permanently if the worker program is missing', async () => {
    const fixture = await startSupervision(await makeFolder(), { program: '/nowhere/worker.js' });
    await expect(fixture.machines.start(makeTestMachine())).rejects.toMatchObject({ fault: 'misconfigured' });
  });
});

/**
 * Returns the script of a service that holds the lock and starts and records a worker, so that a test can kill the
 * service.
 */
function writeServiceScript(root: string, agentId: string): string {
  const dir = join(root, agentId);
  const machine = join(dir, 'machine');
  return `
const fs = require('node:fs'), { spawn } = require('node:child_process');
const startTime = (pid) => fs.readFileSync('/proc/' + pid + '/stat', 'latin1').split(') ')[1].split(' ')[19];
fs.mkdirSync(${JSON.stringify(machine)}, { recursive: true });
fs.writeFileSync(${JSON.stringify(join(root, 'supervisor.lock'))},
  JSON.stringify({ id: 'killed', pid: process.pid, startTime: startTime(process.pid) }));
fs.writeFileSync(${JSON.stringify(join(dir, 'wanted.json'))}, JSON.stringify({ state: 'running', order: 'o', at: Date.now() }));
const child = spawn(process.execPath, [${JSON.stringify(join(root, 'worker.cjs'))}], {
  detached: true, stdio: 'ignore', cwd: ${JSON.stringify(machine)},
  env: { MUSTER_WORKER_DIR: ${JSON.stringify(machine)}, MUSTER_LEASE_FILE: ${JSON.stringify(join(dir, 'lease'))} } });
child.on('spawn', () => fs.writeFileSync(${JSON.stringify(join(dir, 'worker.json'))},
  JSON.stringify({ pid: child.pid, startTime: startTime(child.pid), order: 'o', at: Date.now() })));
setInterval(() => {}, 1000);
`;
}
