import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { serviceApps } from '@muster/contracts';
import { runAdmin, type Streams } from '../run-admin';
import type { Load } from './demand';
import { parts, readFigures, type SizingFigures } from './figures';
import { computePlan, replicas } from './plan';

/** Figures with which results can be computed by hand: only the parts that a unit names use any time for it. */
const buildCosts = (some: Partial<Record<(typeof parts)[number], number>> = {}) =>
  ({ ...Object.fromEntries(parts.map((part) => [part, 0])), ...some }) as Record<(typeof parts)[number], number>;
const figures: SizingFigures = {
  measuredOn: { date: '2026-03-01', version: '0.1.0', cpu: 'a processor', cores: 2, node: 'v22', postgres: '18' },
  cpuMs: {
    idleSecond: buildCosts({ ingest: 10, postgres: 20 }),
    heartbeat: buildCosts({ ingest: 1, postgres: 2 }),
    run: buildCosts({ gateway: 3, ingest: 4, postgres: 5, redis: 1 }),
    step: buildCosts({ ingest: 2, postgres: 1 }),
    logBatch: buildCosts({ ingest: 6, postgres: 7 }),
  },
  diskBytes: {
    empty: 1000,
    writeAheadLog: 8000,
    run: 400,
    step: 50,
    logLine: 10,
    permanentOfRun: 300,
    permanentOfStep: 20,
  },
  memoryBytes: {
    ...buildCosts({ gateway: 100, ingest: 80, postgres: 500, redis: 60 }),
    connection: 5,
    agentInRedis: 2,
  },
};
const load: Load = {
  agents: 3000,
  runsPerDay: 864_000,
  stepsPerRun: 4,
  logLinesPerRun: 250,
  retentionDays: 10,
  peak: 2,
};

describe('muster-admin size', () => {
  it('the planned cores of a part are the sum of each unit’s rate in the busiest hour times the unit’s cost', () => {
    const { demand } = computePlan(load, figures);
    // 864,000 runs per day are 10 per second on average; 250 lines are three batches; 3,000 agents report every 30 s.
    expect(demand.rates).toEqual({ heartbeat: 100, run: 20, step: 80, logBatch: 60 });
    // Postgres, per second: 100 heartbeats × 2 ms, 20 runs × 5 ms, 80 steps × 1 ms, 60 log batches × 7 ms, and 20 ms
    // without load.
    expect(demand.cores.postgres).toBeCloseTo(0.82);
    expect(demand.cores.gateway).toBeCloseTo(0.06);
    // Ingest, per second: 100 heartbeats × 1 ms, 20 runs × 4 ms, 80 steps × 2 ms, 60 log batches × 6 ms, and 10 ms for
    // each of its two processes.
    expect(demand.cores.ingest).toBeCloseTo(0.72);
  });

  it('an app gets as many processes as keep the busiest hour below 70 % of a core, and at least the chart’s minimum', () => {
    expect(computePlan(load, figures).processes).toEqual({
      ...{ gateway: 2, ingest: 2, dispatcher: 2, scheduler: 2, metering: 2 },
      'feedback-sync': 1,
    });
    // Ingest: 100 ms of heartbeats and 5 × 600 ms of runs each second, at 690 ms for each process.
    const five = computePlan({ ...load, runsPerDay: 5 * load.runsPerDay }, figures);
    expect(five.processes.ingest).toBe(5);
    // Postgres: 200 ms of heartbeats, 5 × 600 ms of runs and 20 ms, at 700 ms for each core.
    expect(five.postgresCores).toBe(5);
    expect(computePlan({ ...load, runsPerDay: 20 * load.runsPerDay }, figures).overMaximum).toEqual(['ingest']);
  });

  it('the planned database connections include those of a rollout and those that Postgres reserves', () => {
    expect(computePlan(load, figures).connections).toBe((11 + 6) * 11 + 3);
  });

  it('the planned memory is a fixed part for each process and server plus a part for each connection and agent', () => {
    const { demand, connections } = computePlan(load, figures);
    expect(demand.memoryBytes).toEqual({
      apps: 2 * 100 + 2 * 80,
      postgres: 500 + connections * 5,
      redis: 60 + 3000 * 2,
    });
  });

  it('the planned disk keeps a tenth free with all data of the retention period and all runs, which are never deleted', () => {
    const plan = computePlan(load, figures);
    const stored = 1000 + 8000 + 8_640_000 * (400 + 4 * 50 + 250 * 10);
    expect(plan.diskBytes).toBeCloseTo(stored / 0.9);
    expect(plan.diskBytesPerYear).toBe(864_000 * 365 * (300 + 4 * 20));
  });

  it('the computed limits name the part that becomes too small first', () => {
    const { limits, postgresCores } = computePlan(load, figures);
    expect(postgresCores).toBe(2);
    // Postgres: 2 cores × 700 ms − 20 ms, of which this load needs 800 ms.
    expect(limits[0]).toEqual({ part: 'postgres', timesThisLoad: expect.closeTo(1.725) });
    // Ingest: 10 processes × 690 ms, of which this load needs 700 ms. Redis: 700 ms of its core, of which this load
    // needs 20 ms.
    expect(limits.slice(1)).toEqual([
      { part: 'ingest', timesThisLoad: expect.closeTo(9.857, 2) },
      { part: 'redis', timesThisLoad: expect.closeTo(35) },
      { part: 'gateway', timesThisLoad: expect.closeTo(116.67, 1) },
    ]);
  });

  it('the planned numbers of replicas are those of the chart’s values', () => {
    const values = parse(readFileSync(join(__dirname, '../../../k8s/chart/values.yaml'), 'utf8')) as {
      apps: Record<string, { replicas: number; [scaling: `${string}Scaling`]: { max: number } }>;
    };
    const inChart = Object.entries(values.apps).map(([app, { replicas: min, cpuScaling, queueScaling }]) => [
      app,
      { min, max: (cpuScaling ?? queueScaling)!.max },
    ]);
    expect(replicas).toEqual(Object.fromEntries(inChart));
  });
});

describe('muster-admin size on the command line', () => {
  const runCommand = async (...args: string[]) => {
    const printed = { stdout: '', stderr: '' };
    const createStream = (name: keyof typeof printed) =>
      ({ isTTY: false, write: (text: string) => Boolean((printed[name] += text)) }) as unknown as NodeJS.WriteStream;
    const streams: Streams = { stdout: createStream('stdout'), stderr: createStream('stderr') };
    return { code: await runAdmin(['size', ...args], {}, streams), ...printed };
  };
  const args = '--agents 2000 --runs-per-day 50000 --log-lines-per-run 400 --retention-days 90'.split(' ');

  it('size --json prints the computed numbers and the measured figures without any installation', async () => {
    const { code, stdout } = await runCommand(...args, '--json');
    const plan = computePlan(
      { agents: 2000, runsPerDay: 50_000, stepsPerRun: 10, logLinesPerRun: 400, retentionDays: 90, peak: 3 },
      readFigures(),
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      process: Object.values(plan.processes).reduce((sum, count) => sum + count),
      connection: plan.connections,
      cpu: plan.demand.cores.postgres,
      memory: Math.round(plan.demand.memoryBytes.postgres),
      disk: Math.round(plan.diskBytes),
      redisMemory: Math.round(plan.demand.memoryBytes.redis),
      firstTooSmall: plan.limits[0],
      figures: readFigures(),
    });
  });

  it('size prints each figure with the costs that it comes from, and the part that becomes too small first', async () => {
    const { code, stdout } = await runCommand(...args);
    const { cpuMs } = readFigures();
    expect(code).toBe(0);
    for (const name of ['Processes', 'Connections', 'Postgres CPU', 'Postgres memory', 'Postgres disk', 'Redis memory'])
      expect(stdout).toMatch(new RegExp(`^${name} +[\\d.,]+`, 'm'));
    expect(stdout).toContain(`1.74/s runs × ${cpuMs.run.postgres} ms`);
    expect(stdout).toMatch(/^First too small: .+, at [\d.]+ times this load\.$/m);
  });

  it.each([
    [args.slice(2), '--agents is missing'],
    [[...args, '--agents', 'many'], '--agents must be a whole number of at least 0, and not "many"'],
    [[...args, '--retention-days', '0'], '--retention-days must be a whole number of at least 1, and not "0"'],
    [[...args, '--runs-per-day', '1.5'], '--runs-per-day must be a whole number'],
    [[...args, '--peak', '0.5'], '--peak must be a number of at least 1, and not "0.5"'],
  ])('size %j exits with 2 and prints what is wrong', async (wrong, sentence) => {
    expect(await runCommand(...wrong)).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  it('k8s/sizing.json has the cost of each heartbeat, run, step and log batch in the parts that process it', () => {
    const { cpuMs, diskBytes, memoryBytes } = readFigures();
    for (const kind of ['heartbeat', 'run', 'step', 'logBatch'] as const) {
      expect(cpuMs[kind].ingest).toBeGreaterThan(0);
      expect(cpuMs[kind].postgres).toBeGreaterThan(0);
    }
    for (const app of ['gateway', 'dispatcher', 'metering'] as const) expect(cpuMs.run[app]).toBeGreaterThan(0);
    for (const app of serviceApps) expect(memoryBytes[app]).toBeGreaterThan(0);
    for (const bytes of [...Object.values(diskBytes), memoryBytes.connection]) expect(bytes).toBeGreaterThan(0);
  });
});
