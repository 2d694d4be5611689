import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { ServedApp } from './served-app';

describe('nx serve', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-served-'));
    await writeFile(
      join(folder, 'main.js'),
      `require('fs').appendFileSync(process.env.STARTS, process.pid + '\\n'); process.on('disconnect', () => process.exit());`,
    );
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('a served app that died is restarted, but not one that was stopped', async () => {
    const file = join(folder, 'starts');
    const lines: string[] = [];
    const app = new ServedApp(join(folder, 'main.js'), { ...process.env, STARTS: file }, (line) => lines.push(line));
    const readStartPids = async () =>
      (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean).map(Number);
    await app.start();
    const [first] = await waitFor('its start', async () => (await readStartPids()).length === 1 && readStartPids());
    process.kill(first!, 'SIGKILL');
    await waitFor('a second start', async () => (await readStartPids()).length === 2);
    expect(lines).toEqual(['ended unexpectedly (SIGKILL); restarting at once']);

    // An app that waits for its restart can be stopped as well.
    process.kill((await readStartPids())[1]!, 'SIGKILL');
    await waitFor('its death', () => lines.length === 2);
    await app.stop();
    expect(app.isWanted).toBe(false);
    expect(await readStartPids()).toHaveLength(2);
    await app.start();
    await waitFor('the start after the stop', async () => (await readStartPids()).length === 3);
    await app.stop();
    expect(await readStartPids()).toHaveLength(3);
    expect(lines).toHaveLength(2);
  });
});
