// This test is long because it kills and stops a worker in the middle of composing images.
// A short test of the same code: apps/worker/src/imaging/python-tests.spec.ts
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProcesses, readTestStack } from '@muster/testing';
import { FakeService } from '../testing/fake-service.harness';
import { buildCommand, WorkerHarness } from '../testing/worker-process.harness';

const { pillow } = readTestStack();
const itReads = pillow ? it : it.skip;
const lookup = 'Zyxwvut, Quillandra';

/** Creates an organization's patient database and locks it, so that a composite waits for the lock. */
const holdDatabase = `
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("CREATE TABLE patient (patimageid, chart, first_name, last_name)")
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
`;

describe('A composite on a worker that ends', () => {
  let service: FakeService;
  let worker: WorkerHarness;
  let practice: string;
  let holder: ChildProcess;

  beforeEach(async () => {
    practice = mkdtempSync(join(tmpdir(), 'muster-practice-'));
    const database = join(practice, 'practice.db');
    holder = spawn('python3', ['-c', holdDatabase, database], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(holder.stdout!, 'data');
    writeFileSync(join(practice, 'images.dat'), '');
    service = await FakeService.start();
    const settings = { IMAGING_ROOT: practice, PRACTICE_DATABASE: `sqlite:///${database}` };
    worker = new WorkerHarness(service, { ...settings, ...pillow });
    await worker.start();
  });

  afterEach(async () => {
    await worker.remove();
    await service.stop();
    holder.kill();
    rmSync(practice, { recursive: true, force: true });
    expect(service.faults).toEqual([]);
  });

  const startComposite = async () => {
    const command = buildCommand('imaging_composite', { patientLookup: lookup, teeth: [3], secretNames: [] });
    expect(await service.pushCommand(command)).toBe(202);
    const folder = join(worker.folder, 'commands', command.commandId);
    // The command has read its inputs and waits for the organization's patient database.
    await service.waitUntil('its start', () => existsSync(join(folder, 'manifest.json')));
    await service.waitUntil('its first step', () => !existsSync(join(folder, 'inputs.json')));
    return command.commandId as string;
  };
  const listRemainingFiles = () => ['commands', 'imaging'].flatMap((name) => listFilesIn(join(worker.folder, name)));

  itReads(
    'an imaging_composite command that a kill of the worker interrupts fails, and leaves no files and processes',
    async () => {
      const commandId = await startComposite();
      const observed = findProcesses(commandId).map((pid) =>
        ['cmdline', 'environ'].map((file) => readProcessFile(pid, file)),
      );
      expect(observed.length).toBeGreaterThan(0);
      expect(String(observed)).not.toContain('Zyxwvut');
      expect(worker.readAllOutput()).not.toContain('Zyxwvut');
      await worker.kill('SIGKILL');
      await worker.start();
      const result = await service.waitUntil('its result', () => service.findResult(commandId));
      expect(result).toEqual({ status: 'failed', error: expect.stringMatching(/restarted/) });
      expect(listRemainingFiles()).toEqual([]);
      expect(findProcesses(commandId)).toEqual([]);
      expect(worker.readAllOutput() + worker.stderr).not.toContain('Zyxwvut');
    },
  );

  itReads('an imaging_composite command fails when its worker is stopped, and leaves no files', async () => {
    const commandId = await startComposite();
    await worker.kill('SIGTERM');
    expect(service.findResult(commandId)).toEqual({ status: 'failed', error: 'the worker was stopped' });
    expect(listRemainingFiles()).toEqual([]);
    expect(worker.readAllOutput() + worker.stderr).not.toContain('Zyxwvut');
  });
});

function listFilesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function readProcessFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
