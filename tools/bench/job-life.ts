import { cpus } from 'node:os';
import { runOnBenchStack } from './bench-stack';
import { Costs, type Cpu, type Written } from './job-life/cost';
import { installPeers } from './job-life/install-peers';
import { Runs, type RunsRound } from './job-life/runs';
import { startMuster, startProgram, type Subject } from './job-life/subjects';
import { computeMedian, computePercentile } from './rounds';
import { chooseSize } from './short';

// The life of a run over HTTP: launched, pushed to a worker, reported as running, reported as completed, read. Compares
// Muster with minimal programs and with other job libraries, in alternating rounds on one durable Postgres.

const inFlight = chooseSize(32, 4);
const rounds = chooseSize(5, 1);
/**
 * Rounds before the measured ones. In a process that has just started, V8 takes up to a third of the processor time to
 * compile what runs often, and Postgres has no statistics about the new tables.
 */
const warmUps = chooseSize(4, 1);
const seconds = chooseSize(5, 0.3);
const alone = chooseSize(300, 3);
const targets = { alone: 2, commits: 6, flushes: 4 };
/** Targets: Muster's rate, and its processor time, as a share of each program's. */
const shares = { 'bare-durable': 0.6, 'dbos-durable': 1, dbos: 0.9 };
/** The minimal program, and the minimal program with the same guarantees as Muster. */
const baselines = ['bare', 'bare-durable'];

interface Measured {
  name: string;
  rounds: RunsRound[];
  cpu: Cpu;
  aloneMs: number[];
  written: Written;
}

void runOnBenchStack(async (stack) => {
  const setting = { stack, inFlight };
  const costs = await Costs.open(stack);
  try {
    const peers = process.env['BENCH_PEERS'] === 'false' ? null : await installPeers();
    if (peers && 'fault' in peers)
      console.log(`job-life: the peers are skipped because they could not be installed: ${peers.fault}`);
    const folder = peers && 'folder' in peers ? peers.folder : null;
    const names = [...baselines, ...(folder ? ['dbos', 'dbos-durable', 'graphile-worker', 'pg-boss'] : [])];
    const env: Record<string, string> = folder ? { PEERS_DIR: folder } : {};
    const together = await measureSubjects(costs, [
      () => startMuster('muster', setting, false),
      ...names.map((name) => () => startProgram(name, setting, env)),
    ]);
    printMeasured('in one process each', together);
    const apart = await measureSubjects(costs, [
      () => startMuster('muster, six apps', setting, true),
      ...baselines.map((name) => () => startProgram(name, setting)),
    ]);
    printMeasured('Muster’s six apps apart', apart);
  } finally {
    await costs.close();
  }
});

async function measureSubjects(costs: Costs, starts: (() => Promise<Subject>)[]): Promise<Measured[]> {
  const subjects: Subject[] = [];
  try {
    for (const start of starts) subjects.push(await start());
    const sides = subjects.map((subject) => ({
      runs: new Runs(subject),
      measured: { name: subject.name, rounds: [], cpu: { node: 0, postgres: 0, redis: 0 } } as unknown as Measured,
    }));
    for (let round = -warmUps; round < rounds; round += 1) {
      for (const { runs, measured } of sides) {
        const before = await costs.readCpu(runs.subject);
        const result = await runs.runTogether(inFlight, seconds);
        const after = await costs.readCpu(runs.subject);
        if (round < 0) continue;
        measured.rounds.push(result);
        for (const part of ['node', 'postgres', 'redis'] as const) measured.cpu[part] += after[part] - before[part];
      }
    }
    for (const { runs, measured } of sides) measured.aloneMs = await runs.runOneByOne(alone);
    for (const { runs, measured } of sides) {
      measured.written = await costs.measureWritten(runs.subject, alone, () => runs.runOneByOne(alone));
    }
    return sides.map(({ measured }) => measured);
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
  }
}

const columns = [
  'executions/s',
  'of bare',
  'p50',
  'p99',
  'alone p50',
  'alone p99',
  'CPU',
  'Node',
  'Postgres',
  'Redis',
  'late',
];
const counted = ['commits', 'all tx', 'flushes'];

function printMeasured(title: string, all: Measured[]): void {
  const bare = all.find(({ name }) => name === 'bare')!;
  console.log(
    `job-life: ${inFlight} in flight, ${title} (${cpus().length} cores; CPU, commits and flushes per execution)`,
  );
  formatLine('', [...columns, ...counted]);
  for (const one of all) {
    const latencies = one.rounds.flatMap(({ latenciesMs }) => latenciesMs);
    const executions = one.rounds.reduce((sum, round) => sum + round.executions, 0);
    const formatCpu = (part: keyof Cpu) => formatMs(one.cpu[part] / executions);
    formatLine(one.name, [
      computeMedianRate(one).toFixed(0),
      formatSpread(computeRatios(one, bare)),
      formatMs(computePercentile(latencies, 50)),
      formatMs(computePercentile(latencies, 99)),
      formatMs(computePercentile(one.aloneMs, 50)),
      formatMs(computePercentile(one.aloneMs, 99)),
      formatMs(sumCpu(one)),
      formatCpu('node'),
      formatCpu('postgres'),
      formatCpu('redis'),
      `${((100 * one.rounds.reduce((sum, { late }) => sum + late, 0)) / executions).toFixed(0)} %`,
      one.written.commits.toFixed(1),
      one.written.transactions.toFixed(1),
      one.written.flushes.toFixed(1),
    ]);
  }
  printTargets(all);
}

function printTargets(all: Measured[]): void {
  const muster = all[0]!;
  const findByName = (name: string) => all.find((one) => one.name === name);
  for (const [name, share] of Object.entries(shares)) {
    const other = findByName(name);
    if (!other) continue;
    const byRate = computeMedian(computeRatios(muster, other));
    const byCpu = sumCpu(other) / sumCpu(muster);
    printVerdict(`${byRate.toFixed(2)} of ${name} by rate, target ${share}`, byRate >= share);
    printVerdict(`${byCpu.toFixed(2)} of ${name} by processor time, target ${share}`, byCpu >= share);
  }
  for (const name of baselines) {
    const times = computeMedian(muster.aloneMs) / computeMedian(findByName(name)!.aloneMs);
    printVerdict(`alone ${times.toFixed(2)} times the p50 of ${name}, target ${targets.alone}`, times <= targets.alone);
  }
  const { commits, flushes } = muster.written;
  printVerdict(`${commits.toFixed(1)} commits, target ${targets.commits}`, commits <= targets.commits);
  printVerdict(`${flushes.toFixed(1)} flushes, target ${targets.flushes}`, flushes <= targets.flushes);
  console.log('');
}

function printVerdict(result: string, met: boolean): void {
  console.log(`  ${result}: ${met ? 'met' : 'not met'}`);
}

/** Processor time of one execution in all processes, in milliseconds. */
function sumCpu({ cpu, rounds: each }: Measured): number {
  return (cpu.node + cpu.postgres + cpu.redis) / each.reduce((sum, { executions }) => sum + executions, 0);
}

function computeMedianRate({ rounds: each }: Measured): number {
  return computeMedian(each.map(({ perSecond }) => perSecond));
}

/** Ratios round by round: noise of the machine affects both sides equally only if they run right after each other. */
function computeRatios(one: Measured, other: Measured): number[] {
  return one.rounds.map(({ perSecond }, at) => perSecond / other.rounds[at]!.perSecond);
}

function formatSpread(values: number[]): string {
  return `${computeMedian(values).toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`;
}

function formatMs(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}

function formatLine(name: string, cells: string[]): void {
  console.log(`  ${name.padEnd(18)}${cells.map((cell, at) => `  ${cell}`.padStart(at === 1 ? 18 : 13)).join('')}`);
}
