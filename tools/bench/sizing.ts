import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { type ServiceApp, serviceApps } from '@muster/contracts';
import { demandOf } from '../admin/size/demand';
import { figuresFile, type Part, parts, type SizingFigures } from '../admin/size/figures';
import { version } from '../admin/version';
import { onBenchStack } from './bench-stack';
import { sized } from './short';
import { SizingHouse, type Usage } from './sizing/house';
import { type PhaseLoad, type PhaseResult, runPhase } from './sizing/phase';

// Measures what a heartbeat, a run, a step and a batch of log lines cost in each part, writes k8s/sizing.json for
// `muster-admin size`, and compares what that command computes with simulations of two other sizes.

const agents = sized(2000, 20);
const seconds = sized(40, 2);
const rate = (perSecond: number) => sized(perSecond, 2);
const quiet = { seconds, heartbeatsPerSecond: 0, runsPerSecond: 0, steps: 0, lines: 0, agents: sized(500, 10) };
const steps = 10;
const lines = 500;
const linesPerBatch = 100;
const heartbeatSeconds = 30;
const tolerance = 0.3;
const secondsPerDay = 86_400;

/** Sizes at which the computed figures are compared with a simulation. Neither is the size of the measurement. */
const simulations: PhaseLoad[] = [
  { ...quiet, agents: sized(300, 10), runsPerSecond: rate(3), steps: 4, lines: 150 },
  { ...quiet, agents, runsPerSecond: rate(6), steps: 12, lines: 400 },
].map((load) => ({ ...load, heartbeatsPerSecond: load.agents / heartbeatSeconds }));

void onBenchStack(async (stack) => {
  const house = await SizingHouse.open(stack, agents);
  try {
    // Until the code is compiled, and the caches of Postgres and of its connections are filled, all costs are higher.
    const everything = { ...quiet, agents, heartbeatsPerSecond: rate(60), runsPerSecond: rate(10), steps, lines: 300 };
    await runPhase(house, { ...everything, seconds: sized(90, 2) });
    const figures = await measure(house);
    if (process.env['BENCH_SHORT'] !== 'true') await writeFile(figuresFile(), `${JSON.stringify(figures, null, 2)}\n`);
    print(figures);
    for (const load of simulations) compare(load, await runPhase(house, load), figures);
    console.log('');
  } finally {
    await house.close();
  }
});

async function measure(house: SizingHouse): Promise<SizingFigures> {
  const idle = await runPhase(house, quiet);
  const beats = await runPhase(house, { ...quiet, agents, heartbeatsPerSecond: rate(60) });
  const runs = await runPhase(house, { ...quiet, runsPerSecond: rate(8) });
  const withSteps = await runPhase(house, { ...quiet, runsPerSecond: rate(8), steps });
  const withLines = await runPhase(house, { ...quiet, runsPerSecond: rate(8), lines });
  const { version: postgres, writeAheadLog } = await house.serverSettings();
  const perSecond = byPart((part) => cpuOf(idle, part) / secondsOf(idle));
  const work = (phase: PhaseResult, part: Part) => cpuOf(phase, part) - perSecond[part] * secondsOf(phase);
  const ofRun = byPart((part) => Math.max(0, work(runs, part) / runs.runs));
  const more = (phase: PhaseResult, count: number) =>
    byPart((part) => Math.max(0, (work(phase, part) / phase.runs - ofRun[part]) / count));
  const run = bytesOfRun(runs);
  const step = bytesOfRun(withSteps);
  const line = bytesOfRun(withLines);
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
      idleSecond: rounded(perSecond, 3),
      heartbeat: rounded(
        byPart((part) => Math.max(0, work(beats, part) / beats.heartbeats)),
        3,
      ),
      run: rounded(ofRun, 3),
      step: rounded(more(withSteps, steps), 3),
      logBatch: rounded(more(withLines, lines / linesPerBatch), 3),
    },
    diskBytes: rounded(
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
    memoryBytes: rounded(
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

function bytesOfRun({ before, after, runs }: PhaseResult): { total: number; permanent: number } {
  const grown = (field: keyof Usage['diskBytes']) => after.diskBytes[field] - before.diskBytes[field];
  return { total: grown('total') / runs, permanent: Math.max(0, grown('total') - grown('timeline')) / runs };
}

/** Compares a simulation with the demand that is computed for its load. */
function compare(load: PhaseLoad, phase: PhaseResult, figures: SizingFigures): void {
  const duration = secondsOf(phase);
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
  const demand = demandOf(size, processes, after.connections, figures);
  const measured = byPart((part) => cpuOf(phase, part) / 1000 / duration);
  const inApps = (values: Record<Part, number>) => serviceApps.reduce((sum, app) => sum + values[app], 0);
  const { runs, steps: ofSteps, logLines } = demand.diskBytes;
  console.log(
    `sizing at ${load.agents} agents, ${load.runsPerSecond} runs/s with ${load.steps} steps and ${load.lines} log lines: computed and measured`,
  );
  row('cores of the apps', inApps(demand.cores), inApps(measured));
  row('cores of Postgres', demand.cores.postgres, measured.postgres);
  row('cores of Redis', demand.cores.redis, measured.redis);
  row(
    'MiB added on disk',
    mebibytes(runs + ofSteps + logLines),
    mebibytes(after.diskBytes.total - before.diskBytes.total),
  );
  row('MiB of the apps', mebibytes(demand.memoryBytes.apps), mebibytes(inApps(after.memoryBytes)));
  row(
    'MiB of Postgres',
    mebibytes(demand.memoryBytes.postgres),
    mebibytes(after.memoryBytes.postgres + after.connections * after.connectionBytes),
  );
  row('MiB of Redis', mebibytes(demand.memoryBytes.redis), mebibytes(after.memoryBytes.redis));
}

function print({ cpuMs, diskBytes, memoryBytes }: SizingFigures): void {
  console.log('sizing: processor time of one unit, in ms');
  console.log(`  ${''.padEnd(12)}${parts.map((part) => part.padStart(15)).join('')}`);
  for (const [kind, costs] of Object.entries(cpuMs))
    console.log(`  ${kind.padEnd(12)}${parts.map((part) => costs[part].toFixed(3).padStart(15)).join('')}`);
  const { run, step, logLine } = diskBytes;
  console.log(`  on disk: ${run} bytes per run, ${step} per step, ${logLine} per log line`);
  const memory = parts.map((part) => `${part} ${mebibytes(memoryBytes[part]).toFixed(0)}`).join(', ');
  console.log(`  memory in MiB: ${memory}, a connection ${mebibytes(memoryBytes.connection).toFixed(1)}`);
}

function row(name: string, computed: number, measured: number): void {
  const off = Math.abs(computed - measured) / measured;
  const values = [computed, measured].map((value) => value.toFixed(3).padStart(10)).join('');
  console.log(
    `  ${name.padEnd(20)}${values}  off by ${(off * 100).toFixed(0)} %, target ${tolerance * 100}: ${off <= tolerance ? 'met' : 'not met'}`,
  );
}

function cpuOf({ before, after }: PhaseResult, part: Part): number {
  return after.cpuMs[part] - before.cpuMs[part];
}

function secondsOf({ before, after }: PhaseResult): number {
  return (after.atMs - before.atMs) / 1000;
}

function mebibytes(bytes: number): number {
  return bytes / 1024 ** 2;
}

function byPart(value: (part: Part) => number): Record<Part, number> {
  return Object.fromEntries(parts.map((part) => [part, value(part)])) as Record<Part, number>;
}

function rounded<K extends string>(values: Record<K, number>, digits: number): Record<K, number> {
  return Object.fromEntries(
    Object.entries<number>(values).map(([name, value]) => [name, Number(value.toFixed(digits))]),
  ) as Record<K, number>;
}
