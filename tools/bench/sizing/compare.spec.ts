import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFigures, type SizingFigures } from '../../admin/size/figures';
import { compareSimulation, mapParts, storeFigures } from './compare';
import type { Usage } from './house';

const figures: SizingFigures = {
  ...readFigures(),
  cpuMs: {
    idleSecond: mapParts(() => 10),
    heartbeat: mapParts(() => 1),
    run: mapParts(() => 5),
    step: mapParts(() => 2),
    logBatch: mapParts(() => 3),
  },
};
const load = { seconds: 10, agents: 300, heartbeatsPerSecond: 10, runsPerSecond: 2, steps: 4, lines: 150 };
const mebibyte = 1024 ** 2;

describe('the comparison of computed figures with a simulation', () => {
  let folder: string;
  let file: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-sizing-'));
    file = join(folder, 'sizing.json');
  });
  afterAll(() => rm(folder, { recursive: true }));

  /**
   * Compares the costs with a simulation of 10 s. Postgres used this processor time in it; all other parts used exactly
   * the computed time.
   */
  const compareWithPostgresCpu = (postgresCpuMs: number) => {
    const { run, step, logLine } = figures.diskBytes;
    // Per second: 10 ms while idle, 10 heartbeats of 1 ms, and 2 runs of 5 ms, 4 steps of 2 ms and 2 batches of 3 ms.
    const computedCpuMs = 10 * (10 + 10 + 2 * (5 + 8 + 6));
    const before: Usage = {
      atMs: 0,
      cpuMs: mapParts(() => 0),
      memoryBytes: { ...figures.memoryBytes },
      connectionBytes: figures.memoryBytes.connection,
      connections: 20,
      diskBytes: { total: 100 * mebibyte, timeline: 0 },
    };
    const after = {
      ...before,
      atMs: 10_000,
      cpuMs: { ...mapParts(() => computedCpuMs), postgres: postgresCpuMs },
      memoryBytes: { ...before.memoryBytes, redis: figures.memoryBytes.redis + 300 * figures.memoryBytes.agentInRedis },
      diskBytes: { total: before.diskBytes.total + 20 * (run + 4 * step + 150 * logLine), timeline: 0 },
    };
    return compareSimulation(load, { before, after, runs: 20, heartbeats: 100 }, figures);
  };

  it('computed sizing figures that differ from a simulation by at most 30 % are stored', async () => {
    const comparisons = compareWithPostgresCpu(580 / 1.29);
    expect(comparisons.map(({ name, off }) => [name, Math.round(off * 100)])).toEqual([
      ['cores of the apps', 0],
      ['cores of Postgres', 29],
      ['cores of Redis', 0],
      ['MiB added on disk', 0],
      ['MiB of the apps', 0],
      ['MiB of Postgres', 0],
      ['MiB of Redis', 0],
    ]);
    expect(await storeFigures(file, figures, comparisons)).toBeNull();
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(figures);
  });

  it('sizing figures that differ by more than 30 % leave the file unchanged, and the reason names each of them', async () => {
    await writeFile(file, 'earlier figures');
    const fault = await storeFigures(file, figures, [
      ...compareWithPostgresCpu(580),
      ...compareWithPostgresCpu(580 / 1.4),
    ]);
    expect(fault).toContain('cores of Postgres at 300 agents, 2 runs/s with 4 steps and 150 log lines by 40 %. ');
    expect(fault).not.toContain('Redis');
    expect(await readFile(file, 'utf8')).toBe('earlier figures');
  });

  it('a sizing figure that was measured as 0 or could not be measured counts as not met', async () => {
    for (const measured of [0, Number.NaN]) {
      const comparisons = compareWithPostgresCpu(measured);
      expect(comparisons.filter(({ isMet }) => !isMet).map(({ name }) => name)).toEqual(['cores of Postgres']);
    }
  });
});
