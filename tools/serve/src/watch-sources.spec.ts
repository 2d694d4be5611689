import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { watchSources } from './watch-sources';

describe('watching sources', () => {
  let root: string;
  let stop: () => void;
  let reported: string[][];
  const writeSource = (file: string) => writeFile(join(root, file), `// ${Math.random()}`);
  /** Returns the files that are reported after an action, once `file` is among them. */
  const collectReportsAfter = async (file: string, action: () => Promise<unknown>) => {
    reported = [];
    await action();
    await waitFor(`a report of ${file}`, () => reported.flat().includes(file));
    return reported.flat();
  };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'muster-watch-'));
    await mkdir(join(root, 'libs/jobs/src'), { recursive: true });
    await writeSource('libs/jobs/src/launch-job.ts');
    reported = [];
    stop = watchSources(root, ['libs'], (files) => reported.push(files));
  });
  afterEach(async () => {
    stop();
    await rm(root, { recursive: true, force: true });
  });

  it('watchSources reports a file each time it is written', async () => {
    for (let round = 0; round < 2; round += 1) {
      const files = await collectReportsAfter('libs/jobs/src/launch-job.ts', () =>
        writeSource('libs/jobs/src/launch-job.ts'),
      );
      expect(new Set(files)).toEqual(new Set(['libs/jobs/src/launch-job.ts']));
    }
  });

  it('watchSources reports a file each time an editor saves it by renaming', async () => {
    for (let round = 0; round < 3; round += 1) {
      await collectReportsAfter('libs/jobs/src/launch-job.ts', async () => {
        await writeSource('libs/jobs/src/launch-job.swp');
        await rename(join(root, 'libs/jobs/src/launch-job.swp'), join(root, 'libs/jobs/src/launch-job.ts'));
      });
    }
  });

  it('watchSources reports files in new folders, and deleted files', async () => {
    await collectReportsAfter('libs/machines/src/wake-agent.ts', async () => {
      await mkdir(join(root, 'libs/machines/src'), { recursive: true });
      await writeSource('libs/machines/src/wake-agent.ts');
    });
    await collectReportsAfter('libs/machines/src/stop-agent.ts', () => writeSource('libs/machines/src/stop-agent.ts'));
    await collectReportsAfter('libs/machines/src/wake-agent.ts', () =>
      rm(join(root, 'libs/machines/src/wake-agent.ts')),
    );
  });

  it('watchSources does not report tests, READMEs and installed packages', async () => {
    const files = await collectReportsAfter('libs/jobs/src/launch-job.ts', async () => {
      await mkdir(join(root, 'libs/jobs/node_modules'), { recursive: true });
      await writeSource('libs/jobs/node_modules/index.ts');
      await writeSource('libs/jobs/src/launch-job.spec.ts');
      await writeSource('libs/jobs/README.md');
      await writeSource('libs/jobs/src/launch-job.ts');
    });
    expect(new Set(files)).toEqual(new Set(['libs/jobs/src/launch-job.ts']));
  });
});
