import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { watchSources } from './watch-sources';

describe('watching sources', () => {
  let root: string;
  let stop: () => void;
  let told: string[][];
  const write = (file: string) => writeFile(join(root, file), `// ${Math.random()}`);
  /** What is told after the action, once the file is among it. */
  const after = async (file: string, action: () => Promise<unknown>) => {
    told = [];
    await action();
    await waitFor(`${file} to be told`, () => told.flat().includes(file));
    return told.flat();
  };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'muster-watch-'));
    await mkdir(join(root, 'libs/jobs/src'), { recursive: true });
    await write('libs/jobs/src/launch-job.ts');
    told = [];
    stop = watchSources(root, ['libs'], (files) => told.push(files));
  });
  afterEach(async () => {
    stop();
    await rm(root, { recursive: true, force: true });
  });

  it('tells of a file that is written, and again when it is written again', async () => {
    for (let round = 0; round < 2; round += 1) {
      const files = await after('libs/jobs/src/launch-job.ts', () => write('libs/jobs/src/launch-job.ts'));
      expect(new Set(files)).toEqual(new Set(['libs/jobs/src/launch-job.ts']));
    }
  });

  it('tells of a file that an editor saves by renaming, each time', async () => {
    for (let round = 0; round < 3; round += 1) {
      await after('libs/jobs/src/launch-job.ts', async () => {
        await write('libs/jobs/src/launch-job.swp');
        await rename(join(root, 'libs/jobs/src/launch-job.swp'), join(root, 'libs/jobs/src/launch-job.ts'));
      });
    }
  });

  it('tells of files in folders that were not there before, and of files that are gone', async () => {
    await after('libs/agents/src/wake-agent.ts', async () => {
      await mkdir(join(root, 'libs/agents/src'), { recursive: true });
      await write('libs/agents/src/wake-agent.ts');
    });
    await after('libs/agents/src/stop-agent.ts', () => write('libs/agents/src/stop-agent.ts'));
    await after('libs/agents/src/wake-agent.ts', () => rm(join(root, 'libs/agents/src/wake-agent.ts')));
  });

  it('says nothing of tests, READMEs and what is installed', async () => {
    const files = await after('libs/jobs/src/launch-job.ts', async () => {
      await mkdir(join(root, 'libs/jobs/node_modules'), { recursive: true });
      await write('libs/jobs/node_modules/index.ts');
      await write('libs/jobs/src/launch-job.spec.ts');
      await write('libs/jobs/README.md');
      await write('libs/jobs/src/launch-job.ts');
    });
    expect(new Set(files)).toEqual(new Set(['libs/jobs/src/launch-job.ts']));
  });
});
