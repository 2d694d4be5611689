import { serviceApps } from '@muster/contracts';
import { type Load, sumValues } from './demand';
import { type Part, type SizingFigures, type UnitKind, unitKinds } from './figures';
import { fullAt, type Plan, replicas } from './plan';

const labels: Record<UnitKind, string> = {
  heartbeat: 'heartbeats',
  run: 'runs',
  step: 'steps',
  logBatch: 'log batches',
};

/** Describes a plan: every figure with the measured costs that it comes from. */
export function describeSizing(load: Load, plan: Plan, figures: SizingFigures): string[] {
  const { demand, processes, connections, limits } = plan;
  const { memoryBytes: memory, diskBytes: disk } = figures;
  const runs = load.runsPerDay * load.retentionDays;
  const first = limits[0];
  return [
    `For ${formatCount(load.agents)} agents and ${formatCount(load.runsPerDay)} runs per day, each with ${formatCount(load.stepsPerRun)} steps and ${formatCount(load.logLinesPerRun)} log lines, retained for ${formatCount(load.retentionDays)} days.`,
    `The busiest hour has ${load.peak} times the average: ${unitKinds.map((kind) => `${formatRate(demand.rates[kind])} ${labels[kind]}`).join(', ')} per second.`,
    '',
    formatRow(
      'Processes',
      formatCount(sumValues(processes)),
      serviceApps.map((app) => `${processes[app]} ${app}`).join(', '),
    ),
    ...serviceApps.map((app) =>
      formatRow(`  ${app}`, formatCores(demand.cores[app]), describeCosts(app, plan, figures)),
    ),
    formatRow(
      'Connections',
      formatCount(connections),
      '11 per process, one more process of each app during a rollout, 3 reserved',
    ),
    formatRow('Postgres CPU', formatCores(demand.cores.postgres), describeCosts('postgres', plan, figures)),
    formatRow('', '', `provide ${plan.postgresCores}, so that the busiest hour uses at most ${formatPercent(fullAt)}`),
    formatRow(
      'Postgres memory',
      formatBytes(demand.memoryBytes.postgres),
      `${formatBytes(memory.postgres)} and ${formatBytes(memory.connection)} per connection; more is used as a cache`,
    ),
    formatRow(
      'Postgres disk',
      formatBytes(plan.diskBytes),
      `${formatCount(runs)} runs × (${formatBytes(disk.run)} + ${load.stepsPerRun} steps × ${formatBytes(disk.step)} + ${formatCount(load.logLinesPerRun)} log lines × ${formatBytes(disk.logLine)}), ${formatBytes(disk.writeAheadLog)} of write-ahead log, and 10 % free`,
    ),
    formatRow(
      '',
      '',
      `each further year of runs adds ${formatBytes(plan.diskBytesPerYear)}: retention does not delete runs`,
    ),
    formatRow(
      'Redis memory',
      formatBytes(demand.memoryBytes.redis),
      `${formatBytes(memory.redis)} and ${formatBytes(memory.agentInRedis)} per agent`,
    ),
    formatRow('Redis CPU', formatCores(demand.cores.redis), describeCosts('redis', plan, figures)),
    formatRow(
      'App memory',
      formatBytes(demand.memoryBytes.apps),
      serviceApps.map((app) => `${app} ${formatBytes(memory[app])}`).join(', '),
    ),
    '',
    ...plan.overMaximum.map(
      (app) =>
        `The ${app} needs ${processes[app]} processes, but the chart's maximum is ${replicas[app].max}: raise apps.${app} in the values.`,
    ),
    first
      ? `First too small: ${getPartLabel(first.part)}, at ${first.timesThisLoad.toFixed(1)} times this load.`
      : 'No part is used by this load.',
    `Costs: k8s/sizing.json, measured on ${figures.measuredOn.date} with Muster ${figures.measuredOn.version} on ${figures.measuredOn.cpu}.`,
  ];
}

/** Returns the measured cost of each unit that uses the part, such as "run 2.1 ms". */
function describeCosts(part: Part, { demand }: Plan, { cpuMs }: SizingFigures): string {
  const used = unitKinds.filter((kind) => demand.rates[kind] > 0 && cpuMs[kind][part] > 0);
  return [
    ...used.map((kind) => `${formatRate(demand.rates[kind])}/s ${labels[kind]} × ${cpuMs[kind][part]} ms`),
    `${cpuMs.idleSecond[part]} ms per second without load`,
  ].join(' + ');
}

function getPartLabel(part: Part): string {
  if (part === 'postgres') return 'the CPU of Postgres';
  return part === 'redis' ? 'the one core of Redis' : `the chart's maximum of ${replicas[part].max} ${part} processes`;
}

function formatRow(name: string, value: string, source: string): string {
  return `${name.padEnd(16)}  ${value.padStart(10)}  ${source}`.trimEnd();
}

function formatCount(value: number): string {
  return value.toLocaleString('en');
}

function formatRate(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

function formatCores(value: number): string {
  return `${value.toFixed(2)} cores`;
}

function formatPercent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function formatBytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled.toFixed(scaled < 10 && power > 0 ? 1 : 0)} ${units[power]}`;
}
