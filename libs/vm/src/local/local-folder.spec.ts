import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { testMachine } from '../conformance';
import { endWorkers } from './end-workers';
import { folder, processesIn, supervise, useFixtures, workerOf } from './local-fixture.harness';
import { LocalMachines } from './local-machines';

useFixtures();

describe('the folder of local agents', () => {
  it('a folder of local agents has one supervisor, which also executes the orders of other processes', async () => {
    const root = await folder();
    const first = await supervise(root);
    const second = await supervise(root);
    expect([first.supervision.isSupervising, second.supervision.isSupervising]).toEqual([true, false]);
    const machine = testMachine();
    await second.machines.start(machine);
    expect((await second.machines.describe(machine)).state).toBe('running');
    await second.machines.stop(machine);
    expect(processesIn(root)).toEqual([]);
    await second.machines.start(machine);
    await first.supervision.close();
    await waitFor('the other one', () => second.supervision.isSupervising);
    await waitFor('it runs', async () => (await second.machines.describe(machine)).state === 'running');
  });

  it('endWorkers ends the workers that a killed service left running, but not those of a running service', async () => {
    const root = await folder();
    const machine = testMachine();
    const script = join(root, 'service.cjs');
    await writeFile(script, serviceScript(root, machine.agentId));
    const service = spawn(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit'] });
    const gone = new Promise((resolve) => service.once('exit', resolve));
    const pid = await workerOf({ root }, machine.agentId);
    await waitFor('the service’s record', () => existsSync(join(root, machine.agentId, 'worker.json')));
    await endWorkers(root);
    expect(processesIn(root)).toEqual([pid]);
    service.kill('SIGKILL');
    await gone;
    await endWorkers(root);
    expect(processesIn(root)).toEqual([]);
    const next = await supervise(root);
    await waitFor('it runs again', async () => (await next.machines.describe(machine)).state === 'running');
  });

  it('an order for a local agent fails after its time limit if no process supervises the folder', async () => {
    const machines = new LocalMachines(await folder(), 100);
    await expect(machines.start(testMachine())).rejects.toMatchObject({ fault: 'unreachable' });
  });

  it('a folder of local agents is not supervised by a service without local agents', async () => {
    const root = await folder();
    const machine = testMachine();
    await new LocalMachines(root).folderOf(machine.agentId).want('running');
    const { supervision, machines } = await supervise(root, { enabled: false });
    expect(supervision.isSupervising).toBe(false);
    expect((await machines.describe(machine)).state).toBe('starting');
    expect(processesIn(root)).toEqual([]);
  });

  it('an order for a local agent fails permanently if the worker program is missing', async () => {
    const fixture = await supervise(await folder(), { program: '/nowhere/worker.js' });
    await expect(fixture.machines.start(testMachine())).rejects.toMatchObject({ fault: 'misconfigured' });
  });
});

/** Script of a service that holds the lock and starts and records a worker, so that a test can kill it. */
function serviceScript(root: string, agentId: string): string {
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
