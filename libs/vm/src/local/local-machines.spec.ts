import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { testProviderConformance, makeTestMachine } from '../conformance';
import {
  readWorkerBoots,
  makeFolder,
  findProcessesIn,
  startSupervision,
  useLocalAgentFixtures,
  waitForWorker,
} from './local-fixture.harness';
import { isAlive } from './processes';

useLocalAgentFixtures();

testProviderConformance('local', async () => {
  const root = await makeFolder();
  const { machines } = await startSupervision(root);
  const machine = makeTestMachine();
  let boots: string[] = [];
  return {
    provider: machines,
    machine,
    boots: async () =>
      (boots = existsSync(join(root, machine.agentId)) ? await readWorkerBoots(root, machine.agentId) : boots),
    leftovers: () => Promise.resolve(findProcessesIn(root).map(String)),
    close: () => Promise.resolve(),
  };
});

describe('a local worker', () => {
  it('a local machine is listed whether its worker runs or not', async () => {
    const { machines } = await startSupervision(await makeFolder());
    const [running, stopped] = [makeTestMachine(), makeTestMachine()];
    await machines.start(running);
    await machines.start(stopped);
    await machines.stop(stopped);
    const listed = await machines.list(running);
    const states = Object.fromEntries(listed.map(({ ref, state }) => [ref, state]));
    expect(states).toEqual({ [running.agentId]: 'running', [stopped.agentId]: 'stopped' });
  });

  it('a local machine is described without an address, because its worker reports the address', async () => {
    const { machines } = await startSupervision(await makeFolder());
    const machine = makeTestMachine();
    await machines.start(machine);
    expect(await machines.describe(machine)).toEqual({ state: 'running', ip: null });
  });

  it('a local worker gets the environment that it needs, without the service’s secrets', async () => {
    process.env['MASTER_KEYS'] = 'secret';
    const fixture = await startSupervision(await makeFolder());
    const machine = makeTestMachine();
    await fixture.machines.start(machine);
    const file = join(fixture.root, machine.agentId, 'machine/env.json');
    const env = await waitFor('its environment', async () =>
      readFile(file, 'utf8').then(
        (text) => (text ? (JSON.parse(text) as Record<string, string>) : null),
        () => null,
      ),
    );
    delete process.env['MASTER_KEYS'];
    expect(Object.keys(env).sort()).toEqual([
      'AGENT_ID',
      'MUSTER_LEASE_FILE',
      'MUSTER_WORKER_DIR',
      'PATH',
      'SERVICE_API_KEY',
      'SERVICE_BASE_URL',
    ]);
    expect(env).toMatchObject({ AGENT_ID: machine.agentId, SERVICE_API_KEY: 'msk_key' });
  });

  it('a local worker leads a process group, and is stopped with all its children, also detached ones', async () => {
    const root = await makeFolder();
    await writeFile(join(root, 'children'), '');
    await writeFile(join(root, 'stubborn'), '');
    const fixture = await startSupervision(root);
    const machine = makeTestMachine();
    await fixture.machines.start(machine);
    const pid = await waitForWorker(fixture, machine.agentId);
    const children = await waitFor('its children', () => {
      const rows = execFileSync('ps', ['-eo', 'pid=,ppid=', '--no-headers'], { encoding: 'utf8' });
      const found = rows.split('\n').flatMap((line) => {
        const [child, parent] = line.trim().split(/\s+/).map(Number);
        return parent === pid ? [child!] : [];
      });
      return found.length === 3 && found;
    });
    const group = execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    expect(Number(group)).toBe(pid);
    await fixture.machines.stop(machine);
    for (const each of [pid, ...children])
      expect(existsSync(`/proc/${each}`) && readProcessState(each) !== 'Z').toBe(false);
    expect(existsSync(join(root, machine.agentId))).toBe(true);
  });

  it('a local worker is started again when it dies', async () => {
    const fixture = await startSupervision(await makeFolder());
    const machine = makeTestMachine();
    await fixture.machines.start(machine);
    const first = await waitForWorker(fixture, machine.agentId);
    process.kill(first, 'SIGKILL');
    const second = await waitFor('another one', async () => {
      const pid = await waitForWorker(fixture, machine.agentId);
      return pid !== first && pid;
    });
    await waitFor('it runs', async () => (await fixture.machines.describe(machine)).state === 'running');
    expect(second).not.toBe(first);
    expect(fixture.abandoned).toEqual([]);
  });

  it('a local worker is reported and not restarted after six deaths, until the next start', async () => {
    const root = await makeFolder();
    await writeFile(join(root, 'crash'), '');
    const fixture = await startSupervision(root);
    const machine = makeTestMachine();
    await fixture.machines.start(machine);
    await waitFor('the report', () => fixture.abandoned.length > 0);
    expect(fixture.abandoned).toEqual([[machine.agentId, expect.stringMatching(/died 6 times.*cannot continue/)]]);
    await waitFor('it to be stopped', async () => (await fixture.machines.describe(machine)).state === 'stopped');
    const boots = (await readWorkerBoots(root, machine.agentId)).length;
    expect(boots).toBe(6);
    await rm(join(root, 'crash'));
    await fixture.machines.start(machine);
    await waitFor('it runs', async () => (await fixture.machines.describe(machine)).state === 'running');
    await waitFor('a seventh boot', async () => (await readWorkerBoots(root, machine.agentId)).length === 7);
  });

  it('a local worker is ended by a service that shuts down, and runs again with the next service', async () => {
    const root = await makeFolder();
    const fixture = await startSupervision(root);
    const [on, off] = [makeTestMachine(), makeTestMachine()];
    await fixture.machines.start(on);
    await fixture.machines.start(off);
    await waitForWorker(fixture, off.agentId);
    await fixture.machines.stop(off);
    await fixture.supervision.endAllWorkers();
    expect(findProcessesIn(root)).toEqual([]);
    const next = await startSupervision(root);
    await waitFor('it runs', async () => (await next.machines.describe(on)).state === 'running');
    expect((await next.machines.describe(off)).state).toBe('stopped');
    expect(await readWorkerBoots(root, off.agentId)).toHaveLength(1);
  });

  it('a local worker survives a killed service until the next service finds it', async () => {
    const root = await makeFolder();
    const machine = makeTestMachine();
    const script = join(root, 'service.cjs');
    await writeFile(script, writeServiceScript(root, machine.agentId));
    const service = spawn(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit'] });
    const pid = await waitForWorker({ root }, machine.agentId);
    await waitFor('the service’s record', () => existsSync(join(root, machine.agentId, 'worker.json')));
    const gone = new Promise((resolve) => service.once('exit', resolve));
    service.kill('SIGKILL');
    await gone;
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    const fixture = await startSupervision(root);
    expect(fixture.supervision.isSupervising).toBe(true);
    expect((await fixture.machines.describe(machine)).state).toBe('running');
    await fixture.machines.start(machine);
    expect(await readWorkerBoots(root, machine.agentId)).toEqual([String(pid)]);
    process.kill(pid, 'SIGKILL');
    await waitFor('another one', async () => (await readWorkerBoots(root, machine.agentId)).length === 2);
  });

  it('a local worker is found by its environment if its record is missing', async () => {
    const root = await makeFolder();
    const fixture = await startSupervision(root);
    const machine = makeTestMachine();
    await fixture.machines.start(machine);
    const pid = await waitForWorker(fixture, machine.agentId);
    await rm(join(root, machine.agentId, 'worker.json'));
    await waitFor('the record', () => existsSync(join(root, machine.agentId, 'worker.json')));
    expect(JSON.parse(readFileSync(join(root, machine.agentId, 'worker.json'), 'utf8'))).toMatchObject({ pid });
    expect(await readWorkerBoots(root, machine.agentId)).toHaveLength(1);
  });

  it('a local worker is not confused with another process that has its process id', async () => {
    const root = await makeFolder();
    const fixture = await startSupervision(root);
    const machine = makeTestMachine();
    await fixture.machines.start(machine);
    const bystander = spawn(process.execPath, ['-e', 'setInterval(()=>{},1000)'], { stdio: 'ignore' });
    await fixture.supervision.endAllWorkers();
    await writeFile(
      join(root, machine.agentId, 'worker.json'),
      JSON.stringify({ pid: bystander.pid, startTime: '1', order: 'x', at: 0 }),
    );
    expect(isAlive({ pid: bystander.pid!, startTime: '1' })).toBe(false);
    const next = await startSupervision(root);
    await next.machines.stop(machine);
    expect(bystander.exitCode === null && bystander.signalCode === null).toBe(true);
    bystander.kill('SIGKILL');
  });

  it('the lease of a local worker is renewed while a service supervises it', async () => {
    const fixture = await startSupervision(await makeFolder());
    const machine = makeTestMachine();
    await fixture.machines.start(machine);
    const lease = join(fixture.root, machine.agentId, 'lease');
    const first = (await stat(lease)).mtimeMs;
    await waitFor('a newer lease', async () => (await stat(lease)).mtimeMs > first);
    await fixture.supervision.endAllWorkers();
    const last = (await stat(lease)).mtimeMs;
    expect((await stat(lease)).mtimeMs).toBe(last);
  });

  it('the log of a local worker is truncated when it is too large', async () => {
    const fixture = await startSupervision(await makeFolder());
    const machine = makeTestMachine();
    await fixture.machines.start(machine);
    const log = join(fixture.root, machine.agentId, 'worker.log');
    await waitFor('its first line', async () => (await readFile(log, 'utf8')).includes('awake'));
    await truncate(log, 11 * 1024 * 1024);
    await waitFor('the truncation', async () => (await stat(log)).size < 1024 && existsSync(`${log}.1`));
  });

  it('a local worker does not keep running for a stopped agent', async () => {
    const fixture = await startSupervision(await makeFolder());
    const machine = makeTestMachine();
    await fixture.machines.start(machine);
    await waitForWorker(fixture, machine.agentId);
    const wanted = join(fixture.root, machine.agentId, 'wanted.json');
    const content = JSON.parse(await readFile(wanted, 'utf8')) as object;
    await writeFile(wanted, JSON.stringify({ ...content, at: Date.now() - 60_000 }));
    fixture.statuses.set(machine.agentId, 'stopped');
    await waitFor('its end', () => findProcessesIn(fixture.root).length === 0);
    expect((await fixture.machines.describe(machine)).state).toBe('stopped');
  });
});

function readProcessState(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]![0]!;
}

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
