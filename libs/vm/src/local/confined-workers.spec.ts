import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { testMachine } from '../conformance';
import { accountOf } from './agent-account';
import { findConfinement } from './confinement';
import { bootsIn, folder, supervise, useGrounds } from './local-ground.harness';
import { workerGround } from './worker-ground';

useGrounds();

const isRoot = process.getuid!() === 0;
const confined = { confinement: undefined };
const noteOf = (root: string, agentId: string) => {
  try {
    return JSON.parse(readFileSync(join(root, agentId, 'worker.json'), 'utf8')) as { pid: number };
  } catch {
    return null;
  }
};

describe('a worker that is confined as well as can be', () => {
  it('is found again when its service had no time to note it, and ends with all of it', async () => {
    const { root, machines } = await supervise(await folder(), confined);
    const machine = testMachine();
    await machines.start(machine);
    await waitFor('its boot', async () => (await bootsIn(root, machine.agentId)).length === 1);
    const { pid } = noteOf(root, machine.agentId)!;
    await rm(join(root, machine.agentId, 'worker.json'));
    const again = await waitFor('the note', () => noteOf(root, machine.agentId));
    expect(again.pid).toBe(pid);
    expect(await bootsIn(root, machine.agentId)).toHaveLength(1);
    await machines.terminate(machine);
    expect(readdirSync(root)).not.toContain(machine.agentId);
  });

  (isRoot ? it : it.skip)('is not taken for a process that another account puts in its place', async () => {
    const { root, machines } = await supervise(await folder(), confined);
    const machine = testMachine();
    const env = { PATH: process.env['PATH'], MUSTER_LEASE_FILE: join(root, machine.agentId, 'lease') };
    const forger = spawn('setpriv', ['--reuid', '45678', '--clear-groups', 'sleep', '600'], { env, stdio: 'ignore' });
    const gone = new Promise((resolve) => forger.once('exit', resolve));
    await waitFor('the forger', () => readFileSync(`/proc/${forger.pid}/cmdline`, 'utf8').startsWith('sleep'));
    await machines.start(machine);
    await waitFor('a boot of its own', async () => (await bootsIn(root, machine.agentId)).length === 1);
    expect(noteOf(root, machine.agentId)!.pid).not.toBe(forger.pid);
    forger.kill('SIGKILL');
    await gone;
  });

  (isRoot ? it : it.skip)('has an account that no other agent has, and keeps it', async () => {
    const root = await folder();
    const ids = [testMachine(), testMachine(), testMachine()].map(({ agentId }) => agentId);
    for (const id of ids) await mkdir(join(root, id));
    // The first one's number is taken already.
    writeFileSync(join(root, ids[1]!, 'account'), String(await accountOf(root, ids[0]!)));
    await rm(join(root, ids[0]!, 'account'));
    const accounts = [];
    for (const id of ids) accounts.push(await accountOf(root, id));
    expect(new Set(accounts).size).toBe(3);
    for (const [at, id] of ids.entries()) expect(await accountOf(root, id)).toBe(accounts[at]);
  });

  it('takes along what an earlier version left around its folder, and follows no link in it', async () => {
    const { root, machines, supervision } = await supervise(await folder(), confined);
    const machine = testMachine();
    const path = join(root, machine.agentId);
    mkdirSync(join(path, 'runs'), { recursive: true });
    writeFileSync(join(path, 'journal.jsonl'), 'kept');
    writeFileSync(join(root, 'outside'), '', { mode: 0o600 });
    symlinkSync(join(root, 'outside'), join(path, 'runs/link'));
    await machines.start(machine);
    await waitFor('its boot', async () => (await bootsIn(root, machine.agentId)).length === 1);
    expect(readFileSync(join(path, 'machine/journal.jsonl'), 'utf8')).toBe('kept');
    expect(readdirSync(path)).not.toContain('runs');
    expect(statSync(join(root, 'outside')).uid).toBe(process.getuid!());
    await supervision.close();
  });
});

describe('what confinement there is', () => {
  it('is found out by trying, and what fails is told', async () => {
    const root = await folder();
    const ground = workerGround(root, { PATH: process.env['PATH']!, PYTHON: '/nowhere/python3' });
    expect(await findConfinement(ground)).toMatchObject({ account: false, namespaces: false });
    expect((await findConfinement(ground)).fault).toMatch(/nowhere/);
    expect(readdirSync(root)).toEqual(['worker.cjs']);
  });
});
