import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { type ServiceApp, serviceApps } from '@muster/contracts';
import { computeDemand } from '../admin/size/demand';
import { getFiguresFile, type Part, parts, type SizingFigures } from '../admin/size/figures';
import { version } from '../admin/version';
import { runOnBenchStack } from './bench-stack';
import { chooseSize } from './short';
import { SizingHouse, type Usage } from './sizing/house';
import { type PhaseLoad, type PhaseResult, runPhase } from './sizing/phase';

// Measures what a heartbeat, a run, a step and a batch of log lines cost in each part, writes k8s/sizing.json for
// `muster-admin size`, and compares what that command computes with simulations of two other sizes.

const agents = chooseSize(2000, 20);
const seconds = chooseSize(40, 2);
const buildLoad = (perSecond: number) => chooseSize(perSecond, 2);
const quiet = { seconds, heartbeatsPerSecond: 0, runsPerSecond: 0, steps: 0, lines: 0, agents: chooseSize(500, 10) };
const steps = 10;
const lines = 500;
const linesPerBatch = 100;
const heartbeatSeconds = 30;
const tolerance = 0.3;
const secondsPerDay = 86_400;

/** Sizes at which the computed figures are compared with a simulation. Neither is the size of the measurement. */
const simulations: PhaseLoad[] = [
  { ...quiet, agents: chooseSize(300, 10), runsPerSecond: buildLoad(3), steps: 4, lines: 150 },
  { ...quiet, agents, runsPerSecond: buildLoad(6), steps: 12, lines: 400 },
].map((load) => ({ ...load, heartbeatsPerSecond: load.agents / heartbeatSeconds }));

void runOnBenchStack(async (stack) => {
  const house = await SizingHouse.open(stack, agents);
  try {
    // Until the code is compiled, and the caches of Postgres and of its connections are filled, all costs are higher.
    const everything = {
      ...quiet,
      agents,
      heartbeatsPerSecond: buildLoad(60),
      runsPerSecond: buildLoad(10),
      steps,
      lines: 300,
    };
    await runPhase(house, { ...everything, seconds: chooseSize(90, 2) });
    const figures = await measureResourceUse(house);
    if (process.env['BENCH_SHORT'] !== 'true')
      await writeFile(getFiguresFile(), `${JSON.stringify(figures, null, 2)}\n`);
    printFigures(figures);
    for (const load of simulations) printComparison(load, await runPhase(house, load), figures);
    console.log('');
  } finally {
    await house.close();
  }
});

async function measureResourceUse(house: SizingHouse): Promise<SizingFigures> {
  const idle = await runPhase(house, quiet);
  const beats = await runPhase(house, { ...quiet, agents, heartbeatsPerSecond: buildLoad(60) });
  const runs = await runPhase(house, { ...quiet, runsPerSecond: buildLoad(8) });
  const withSteps = await runPhase(house, { ...quiet, runsPerSecond: buildLoad(8), steps });
  const withLines = await runPhase(house, { ...quiet, runsPerSecond: buildLoad(8), lines });
  const { version: postgres, writeAheadLog } = await house.readServerSettings();
  const perSecond = mapParts((part) => getCpuOfPart(idle, part) / getSeconds(idle));
  const computeWorkPerUnit = (phase: PhaseResult, part: Part) =>
    getCpuOfPart(phase, part) - perSecond[part] * getSeconds(phase);
  const ofRun = mapParts((part) => Math.max(0, computeWorkPerUnit(runs, part) / runs.runs));
  const sumUnits = (phase: PhaseResult, count: number) =>
    mapParts((part) => Math.max(0, (computeWorkPerUnit(phase, part) / phase.runs - ofRun[part]) / count));
  const run = computeBytesPerRun(runs);
  const step = computeBytesPerRun(withSteps);
  const line = computeBytesPerRun(withLines);
  const { after } = withLines;
  const agentInRedis = Math.max(0, beats.after.memoryBytes.redis - idle.after.memoryBytes.redis) / agents;
  return {
    measuredOn: {
      date: new Date().toISOString().slice(0, 10),
      version,
      cpu: cpus()[0]!.model,
      cores: cpus().length,
      node: process.version,
      postgres,
    },
    cpuMs: {
      idleSecond: roundValues(perSecond, 3),
      heartbeat: roundValues(
        mapParts((part) => Math.max(0, computeWorkPerUnit(beats, part) / beats.heartbeats)),
        3,
      ),
      run: roundValues(ofRun, 3),
      step: roundValues(sumUnits(withSteps, steps), 3),
      logBatch: roundValues(sumUnits(withLines, lines / linesPerBatch), 3),
    },
    diskBytes: roundValues(
      {
        empty: idle.before.diskBytes.total,
        writeAheadLog,
        run: run.total,
        step: Math.max(0, step.total - run.total) / steps,
        logLine: Math.max(0, line.total - run.total) / lines,
        permanentOfRun: run.permanent,
        permanentOfStep: Math.max(0, step.permanent - run.permanent) / steps,
      },
      0,
    ),
    memoryBytes: roundValues(
      {
        ...after.memoryBytes,
        redis: after.memoryBytes.redis - agents * agentInRedis,
        connection: after.connectionBytes,
        agentInRedis,
      },
      0,
    ),
  };
}

function computeBytesPerRun({ before, after, runs }: PhaseResult): { total: number; permanent: number } {
  const computeGrowth = (field: keyof Usage['diskBytes']) => after.diskBytes[field] - before.diskBytes[field];
  return {
    total: computeGrowth('total') / runs,
    permanent: Math.max(0, computeGrowth('total') - computeGrowth('timeline')) / runs,
  };
}

/** Compares a simulation with the demand that is computed for its load. */
function printComparison(load: PhaseLoad, phase: PhaseResult, figures: SizingFigures): void {
  const duration = getSeconds(phase);
  const days = duration / secondsPerDay;
  const size = {
    // The phase also waits for its last runs, so its rates are lower than those at which it sent.
    agents: (phase.heartbeats / duration) * heartbeatSeconds,
    runsPerDay: phase.runs / days,
    stepsPerRun: load.steps,
    logLinesPerRun: load.lines,
    retentionDays: days,
    peak: 1,
  };
  const processes = Object.fromEntries(serviceApps.map((app) => [app, 1])) as Record<ServiceApp, number>;
  const { after, before } = phase;
  const demand = computeDemand(size, processes, after.connections, figures);
  const measured = mapParts((part) => getCpuOfPart(phase, part) / 1000 / duration);
  const sumOfApps = (values: Record<Part, number>) => serviceApps.reduce((sum, app) => sum + values[app], 0);
  const { runs, steps: ofSteps, logLines } = demand.diskBytes;
  console.log(
    `sizing at ${load.agents} agents, ${load.runsPerSecond} runs/s with ${load.steps} steps and ${load.lines} log lines: computed and measured`,
  );
  printRow('cores of the apps', sumOfApps(demand.cores), sumOfApps(measured));
  printRow('cores of Postgres', demand.cores.postgres, measured.postgres);
  printRow('cores of Redis', demand.cores.redis, measured.redis);
  printRow(
    'MiB added on disk',
    toMebibytes(runs + ofSteps + logLines),
    toMebibytes(after.diskBytes.total - before.diskBytes.total),
  );
  printRow('MiB of the apps', toMebibytes(demand.memoryBytes.apps), toMebibytes(sumOfApps(after.memoryBytes)));
  printRow(
    'MiB of Postgres',
    toMebibytes(demand.memoryBytes.postgres),
    toMebibytes(after.memoryBytes.postgres + after.connections * after.connectionBytes),
  );
  printRow('MiB of Redis', toMebibytes(demand.memoryBytes.redis), toMebibytes(after.memoryBytes.redis));
}

function printFigures({ cpuMs, diskBytes, memoryBytes }: SizingFigures): void {
  console.log('sizing: processor time of one unit, in ms');
  console.log(`  ${''.padEnd(12)}${parts.map((part) => part.padStart(15)).join('')}`);
  for (const [kind, costs] of Object.entries(cpuMs))
    console.log(`  ${kind.padEnd(12)}${parts.map((part) => costs[part].toFixed(3).padStart(15)).join('')}`);
  const { run, step, logLine } = diskBytes;
  console.log(`  on disk: ${run} bytes per run, ${step} per step, ${logLine} per log line`);
  const memory = parts.map((part) => `${part} ${toMebibytes(memoryBytes[part]).toFixed(0)}`).join(', ');
  console.log(`  memory in MiB: ${memory}, a connection ${toMebibytes(memoryBytes.connection).toFixed(1)}`);
}

function printRow(name: string, computed: number, measured: number): void {
  const off = Math.abs(computed - measured) / measured;
  const values = [computed, measured].map((value) => value.toFixed(3).padStart(10)).join('');
  console.log(
    `  ${name.padEnd(20)}${values}  off by ${(off * 100).toFixed(0)} %, target ${tolerance * 100}: ${off <= tolerance ? 'met' : 'not met'}`,
  );
}

function getCpuOfPart({ before, after }: PhaseResult, part: Part): number {
  return after.cpuMs[part] - before.cpuMs[part];
}

function getSeconds({ before, after }: PhaseResult): number {
  return (after.atMs - before.atMs) / 1000;
}

function toMebibytes(bytes: number): number {
  return bytes / 1024 ** 2;
}

function mapParts(value: (part: Part) => number): Record<Part, number> {
  return Object.fromEntries(parts.map((part) => [part, value(part)])) as Record<Part, number>;
}

function roundValues<K extends string>(values: Record<K, number>, digits: number): Record<K, number> {
  return Object.fromEntries(
    Object.entries<number>(values).map(([name, value]) => [name, Number(value.toFixed(digits))]),
  ) as Record<K, number>;
}
