import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statfsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { release, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { waitFor } from '@muster/testing';
import { makeTestMachine } from '../conformance';
import { assignAccount } from './agent-account';
import { buildConfinedCommand, findConfinement } from './confinement';
import { readImagingEnvironment } from './read-imaging-environment';
import { readWorkerBoots, makeFolder, startSupervision, useLocalAgentFixtures } from './local-fixture.harness';
import { readConfinementInput } from './read-confinement-input';

useLocalAgentFixtures();

const isRoot = process.getuid!() === 0;
/** Whether mounts can map owners: since Linux 5.12 on ext4, XFS and Btrfs. Elsewhere a plain mount is used. */
const mapsOwners =
  Number(
    release()
      .split('.', 2)
      .map((part) => part.padStart(3, '0'))
      .join(''),
  ) >= 5_012 && [0xef53, 0x58465342, 0x9123683e].includes(statfsSync(tmpdir()).type);
const confined = { confinement: undefined };
const readWorkerRecord = (root: string, agentId: string) => {
  try {
    return JSON.parse(readFileSync(join(root, agentId, 'worker.json'), 'utf8')) as { pid: number };
  } catch {
    return null;
  }
};

describe('a worker with the best available confinement', () => {
  it('a confined worker whose record file is missing is found again, and ends when its machine is terminated', async () => {
    const { root, machines } = await startSupervision(await makeFolder(), confined);
    const machine = makeTestMachine();
    await machines.start(machine);
    await waitFor('its boot', async () => (await readWorkerBoots(root, machine.agentId)).length === 1);
    const { pid } = readWorkerRecord(root, machine.agentId)!;
    await rm(join(root, machine.agentId, 'worker.json'));
    const again = await waitFor('the record', () => readWorkerRecord(root, machine.agentId));
    expect(again.pid).toBe(pid);
    expect(await readWorkerBoots(root, machine.agentId)).toHaveLength(1);
    await machines.terminate(machine);
    expect(readdirSync(root)).not.toContain(machine.agentId);
  });

  (isRoot ? it : it.skip)(
    'a confined worker is not confused with a process of another account that imitates its environment',
    async () => {
      const { root, machines } = await startSupervision(await makeFolder(), confined);
      const machine = makeTestMachine();
      const env = { PATH: process.env['PATH'], MUSTER_LEASE_FILE: join(root, machine.agentId, 'lease') };
      const forger = spawn('setpriv', ['--reuid', '45678', '--clear-groups', 'sleep', '600'], { env, stdio: 'ignore' });
      const gone = new Promise((resolve) => forger.once('exit', resolve));
      await waitFor('the forger', () => readFileSync(`/proc/${forger.pid}/cmdline`, 'utf8').startsWith('sleep'));
      await machines.start(machine);
      await waitFor('a boot of its own', async () => (await readWorkerBoots(root, machine.agentId)).length === 1);
      expect(readWorkerRecord(root, machine.agentId)!.pid).not.toBe(forger.pid);
      forger.kill('SIGKILL');
      await gone;
    },
  );

  (isRoot ? it : it.skip)('each agent gets an account that no other agent has, and keeps it', async () => {
    const root = await makeFolder();
    const ids = [makeTestMachine(), makeTestMachine(), makeTestMachine()].map(({ agentId }) => agentId);
    for (const id of ids) await mkdir(join(root, id));
    // The number that is derived from the first agent's id is already assigned to the second agent.
    writeFileSync(join(root, ids[1]!, 'account'), String(await assignAccount(root, ids[0]!)));
    await rm(join(root, ids[0]!, 'account'));
    const accounts = [];
    for (const id of ids) accounts.push(await assignAccount(root, id));
    expect(new Set(accounts).size).toBe(3);
    for (const [at, id] of ids.entries()) expect(await assignAccount(root, id)).toBe(accounts[at]);
  });

  it('a confined worker gets the files of an earlier version in its folder, without following links', async () => {
    const { root, machines, supervision } = await startSupervision(await makeFolder(), confined);
    const machine = makeTestMachine();
    const path = join(root, machine.agentId);
    mkdirSync(join(path, 'runs'), { recursive: true });
    writeFileSync(join(path, 'journal.jsonl'), 'kept');
    writeFileSync(join(root, 'outside'), '', { mode: 0o600 });
    symlinkSync(join(root, 'outside'), join(path, 'runs/link'));
    await machines.start(machine);
    await waitFor('its boot', async () => (await readWorkerBoots(root, machine.agentId)).length === 1);
    expect(readFileSync(join(path, 'machine/journal.jsonl'), 'utf8')).toBe('kept');
    expect(readdirSync(path)).not.toContain('runs');
    expect(statSync(join(root, 'outside')).uid).toBe(process.getuid!());
    await supervision.endAllWorkers();
  });
});

describe('the folders of an organization', () => {
  it('local workers may read the folders that the imaging variables name, except system folders', () => {
    const { env, ownerReadable } = readImagingEnvironment({
      IMAGING_ROOT: '/mnt/images',
      IMAGING_ALLOWED_ROOTS: '/mnt/images; /srv/more/old;relative',
      IMAGING_DATA_FILE: '/srv/data/images.dat',
      IMAGING_PATH_MAP: '\\\\server\\share=/mnt/share',
      PRACTICE_DATABASE: 'sqlite:////srv/practice/practice.db',
      PRACTICE_PASSWORD: 'not passed on',
      IMAGING_ROOT_2: 'not passed on either',
    });
    // A relative path starts at the folder in which the service was started.
    const folders = ['/mnt/images', '/mnt/share', '/srv/data', '/srv/more/old', '/srv/practice', resolve('relative')];
    expect(ownerReadable.sort()).toEqual(folders.sort());
    expect(Object.keys(env).sort()).toEqual([
      ...['IMAGING_ALLOWED_ROOTS', 'IMAGING_DATA_FILE', 'IMAGING_PATH_MAP', 'IMAGING_ROOT', 'PRACTICE_DATABASE'],
    ]);
    const odd = { IMAGING_ROOT: '/', IMAGING_ALLOWED_ROOTS: '/etc;/tmp', PRACTICE_DATABASE: 'odbc:Driver=/srv/a/b.so' };
    expect(readImagingEnvironment(odd).ownerReadable).toEqual([]);
  });

  (isRoot && mapsOwners ? it : it.skip)(
    'an organization’s folders can be read with the permissions of their owner but not written',
    async () => {
      const [dataFolder, imageFolder] = [await makeFolder(), await makeFolder()];
      // The service hides the folder that contains the folder of the agents.
      const root = join(dataFolder, 'agents');
      await mkdir(root);
      await Promise.all([dataFolder, root].map((each) => chmod(each, 0o711)));
      await writeFile(join(imageFolder, 'image'), 'seen', { mode: 0o600 });
      const machine = join(root, 'machine');
      await mkdir(machine);
      await chown(machine, 45_678, 45_678);
      const code = `try { require('fs').writeFileSync('${imageFolder}/image', '') } catch (error) { console.log(error.code) }
      console.log(require('fs').readFileSync('${imageFolder}/image', 'utf8'))`;
      const input = { ...readConfinementInput(root, { PATH: process.env['PATH']! }), ownerReadable: [imageFolder] };
      const command = [process.execPath, '-e', code];
      const worker = { account: 45_678, machine, home: machine, lease: machine, command };
      const [program, ...args] = buildConfinedCommand({ account: true, namespaces: true }, worker, input);
      const { stdout, stderr } = spawnSync(program!, args, { encoding: 'utf8', env: input.baseEnv, cwd: '/' });
      expect([stdout, stderr]).toEqual(['EROFS\nseen\n', '']);
      await Promise.all([dataFolder, imageFolder].map((each) => rm(each, { recursive: true })));
    },
  );
});

describe('the available confinement', () => {
  (isRoot ? it : it.skip)(
    'a root user gets an account for each worker, also while the trial takes a while',
    async () => {
      const [root, tools] = [await makeFolder(), await makeFolder()];
      const slowPython = join(tools, 'python3');
      const lines = ['#!/bin/sh', 'sleep 0.3', `export PATH='${process.env['PATH']}'`, 'exec python3 "$@"', ''];
      writeFileSync(slowPython, lines.join('\n'));
      await Promise.all([chmod(slowPython, 0o755), chmod(tools, 0o755)]);
      const env = { PATH: process.env['PATH']!, PYTHON: slowPython };
      const own = readConfinementInput(root, env, join(root, 'worker.cjs'));
      const input = { ...own, needed: [...(own.needed ?? []), slowPython] };
      const found = await findConfinement(input);
      expect([found.account, found.fault]).toEqual([true, undefined]);
      await Promise.all([root, tools].map((each) => rm(each, { recursive: true })));
    },
  );

  it('findConfinement tries which confinement of workers works, and returns the reason if none does', async () => {
    const root = await makeFolder();
    const input = readConfinementInput(root, { PATH: process.env['PATH']!, PYTHON: '/nowhere/python3' });
    expect(await findConfinement(input)).toMatchObject({ account: false, namespaces: false });
    expect((await findConfinement(input)).fault).toMatch(/nowhere/);
    expect(readdirSync(root)).toEqual(['worker.cjs']);
  });
});
