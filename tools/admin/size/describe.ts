import { serviceApps } from '@muster/contracts';
import { type Load, sumOf } from './demand';
import { type Part, type SizingFigures, type UnitKind, unitKinds } from './figures';
import { fullAt, type Plan, replicas } from './plan';

const labels: Record<UnitKind, string> = {
  heartbeat: 'heartbeats',
  run: 'runs',
  step: 'steps',
  logBatch: 'log batches',
};

/** Describes a plan: every figure with the measured costs that it comes from. */
export function describe(load: Load, plan: Plan, figures: SizingFigures): string[] {
  const { demand, processes, connections, limits } = plan;
  const { memoryBytes: memory, diskBytes: disk } = figures;
  const runs = load.runsPerDay * load.retentionDays;
  const first = limits[0];
  return [
    `For ${count(load.agents)} agents and ${count(load.runsPerDay)} runs per day, each with ${count(load.stepsPerRun)} steps and ${count(load.logLinesPerRun)} log lines, retained for ${count(load.retentionDays)} days.`,
    `The busiest hour has ${load.peak} times the average: ${unitKinds.map((kind) => `${rate(demand.rates[kind])} ${labels[kind]}`).join(', ')} per second.`,
    '',
    row('Processes', count(sumOf(processes)), serviceApps.map((app) => `${processes[app]} ${app}`).join(', ')),
    ...serviceApps.map((app) => row(`  ${app}`, cores(demand.cores[app]), costsOf(app, plan, figures))),
    row('Connections', count(connections), '11 per process, one more process of each app during a rollout, 3 reserved'),
    row('Postgres CPU', cores(demand.cores.postgres), costsOf('postgres', plan, figures)),
    row('', '', `provide ${plan.postgresCores}, so that the busiest hour uses at most ${percent(fullAt)}`),
    row(
      'Postgres memory',
      bytes(demand.memoryBytes.postgres),
      `${bytes(memory.postgres)} and ${bytes(memory.connection)} per connection; more is used as a cache`,
    ),
    row(
      'Postgres disk',
      bytes(plan.diskBytes),
      `${count(runs)} runs × (${bytes(disk.run)} + ${load.stepsPerRun} steps × ${bytes(disk.step)} + ${count(load.logLinesPerRun)} log lines × ${bytes(disk.logLine)}), ${bytes(disk.writeAheadLog)} of write-ahead log, and 10 % free`,
    ),
    row('', '', `each further year of runs adds ${bytes(plan.diskBytesPerYear)}: retention does not delete runs`),
    row(
      'Redis memory',
      bytes(demand.memoryBytes.redis),
      `${bytes(memory.redis)} and ${bytes(memory.agentInRedis)} per agent`,
    ),
    row('Redis CPU', cores(demand.cores.redis), costsOf('redis', plan, figures)),
    row(
      'App memory',
      bytes(demand.memoryBytes.apps),
      serviceApps.map((app) => `${app} ${bytes(memory[app])}`).join(', '),
    ),
    '',
    ...plan.overMaximum.map(
      (app) =>
        `The ${app} needs ${processes[app]} processes, but the chart's maximum is ${replicas[app].max}: raise apps.${app} in the values.`,
    ),
    first
      ? `First too small: ${nameOf(first.part)}, at ${first.timesThisLoad.toFixed(1)} times this load.`
      : 'No part is used by this load.',
    `Costs: k8s/sizing.json, measured on ${figures.measuredOn.date} with Muster ${figures.measuredOn.version} on ${figures.measuredOn.cpu}.`,
  ];
}

/** Returns the measured cost of each unit that uses the part, such as "run 2.1 ms". */
function costsOf(part: Part, { demand }: Plan, { cpuMs }: SizingFigures): string {
  const used = unitKinds.filter((kind) => demand.rates[kind] > 0 && cpuMs[kind][part] > 0);
  return [
    ...used.map((kind) => `${rate(demand.rates[kind])}/s ${labels[kind]} × ${cpuMs[kind][part]} ms`),
    `${cpuMs.idleSecond[part]} ms per second without load`,
  ].join(' + ');
}

function nameOf(part: Part): string {
  if (part === 'postgres') return 'the CPU of Postgres';
  return part === 'redis' ? 'the one core of Redis' : `the chart's maximum of ${replicas[part].max} ${part} processes`;
}

function row(name: string, value: string, source: string): string {
  return `${name.padEnd(16)}  ${value.padStart(10)}  ${source}`.trimEnd();
}

function count(value: number): string {
  return value.toLocaleString('en');
}

function rate(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

function cores(value: number): string {
  return `${value.toFixed(2)} cores`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled.toFixed(scaled < 10 && power > 0 ? 1 : 0)} ${units[power]}`;
}
