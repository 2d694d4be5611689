import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { processesFor, usableCores } from './core-share';

describe('the number of processes', () => {
  it('is one for every two cores, at least one and at most four', () => {
    expect([0.5, 1, 2, 3, 4, 6, 8, 64].map(processesFor)).toEqual([1, 1, 1, 1, 2, 3, 4, 4]);
  });

  it('goes by a container’s share where that is less than the machine', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-cores-'));
    const file = join(folder, 'cpu.max');
    await writeFile(file, '50000 100000\n');
    expect(usableCores(file)).toBe(0.5);
    await writeFile(file, 'max 100000\n');
    expect(usableCores(file)).toBe(availableParallelism());
    expect(usableCores(join(folder, 'none'))).toBe(availableParallelism());
    await rm(folder, { recursive: true });
  });
});
