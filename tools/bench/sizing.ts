import { cpus } from 'node:os';
import { getFiguresFile, type Part, parts, type SizingFigures } from '../admin/size/figures';
import { version } from '../admin/version';
import { runOnBenchStack } from './bench-stack';
import { chooseSize, short } from './short';
import {
  compareSimulation,
  type Comparison,
  formatComparison,
  getCpuOfPart,
  getSeconds,
  heartbeatSeconds,
  mapParts,
  storeFigures,
  toMebibytes,
} from './sizing/compare';
import { SizingHouse, type Usage } from './sizing/house';
import { type PhaseLoad, type PhaseResult, runPhase } from './sizing/phase';

// Measures what a heartbeat, a run, a step and a batch of log lines cost in each part, and compares what `muster-admin
// size` computes from these costs with simulations of two other sizes. If every figure is close enough, writes the costs
// to k8s/sizing.json; otherwise leaves that file unchanged and fails.

const agents = chooseSize(2000, 20);
const seconds = chooseSize(40, 2);
const buildLoad = (perSecond: number) => chooseSize(perSecond, 2);
const quiet = { seconds, heartbeatsPerSecond: 0, runsPerSecond: 0, steps: 0, lines: 0, agents: chooseSize(500, 10) };
const steps = 10;
const lines = 500;
const linesPerBatch = 100;

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
    printFigures(figures);
    const comparisons: Comparison[] = [];
    for (const load of simulations) {
      const ofLoad = compareSimulation(load, await runPhase(house, load), figures);
      console.log(`sizing at ${ofLoad[0]!.simulation}: computed and measured`);
      for (const comparison of ofLoad) console.log(formatComparison(comparison));
      comparisons.push(...ofLoad);
    }
    console.log('');
    // The short form measures too little for meaningful figures.
    const fault = short ? null : await storeFigures(getFiguresFile(), figures, comparisons);
    if (fault) {
      console.error(`sizing: ${fault}`);
      process.exitCode = 1;
    }
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

function roundValues<K extends string>(values: Record<K, number>, digits: number): Record<K, number> {
  return Object.fromEntries(
    Object.entries<number>(values).map(([name, value]) => [name, Number(value.toFixed(digits))]),
  ) as Record<K, number>;
}
