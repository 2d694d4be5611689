import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeProcesses, computeProcessCount, readUsableCores } from './core-share';

describe('the number of service processes', () => {
  it('npm start runs one service process for every two cores, at least one and at most four', () => {
    expect([0.5, 1, 2, 3, 4, 6, 8, 64].map(computeProcessCount)).toEqual([1, 1, 1, 1, 2, 3, 4, 4]);
  });

  it('readUsableCores returns a container’s CPU quota if it is less than the machine’s cores', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-cores-'));
    const file = join(folder, 'cpu.max');
    await writeFile(file, '50000 100000\n');
    expect(readUsableCores(file)).toBe(0.5);
    await writeFile(file, 'max 100000\n');
    expect(readUsableCores(file)).toBe(availableParallelism());
    expect(readUsableCores(join(folder, 'none'))).toBe(availableParallelism());
    await rm(folder, { recursive: true });
  });

  it('the number of service processes is printed with the number of cores that they share', () => {
    expect(describeProcesses(1, 2)).toBe('1 for everything (2 cores; --processes N for more)');
    expect(describeProcesses(1, 1)).toBe('1 for everything (1 core; --processes N for more)');
    expect(describeProcesses(1, 1.5)).toContain('(1.5 cores;');
    expect(describeProcesses(4, 8)).toBe('4 behind one port, each running the whole service (8 cores; --processes)');
  });
});
