import { type ServiceApp, serviceApps } from '@muster/contracts';
import { type Part, parts, type SizingFigures, type UnitKind, unitKinds } from './figures';

/** A worker sends up to this number of log lines in one request. */
const linesPerBatch = 100;
const heartbeatSeconds = 30;
const secondsPerDay = 86_400;

/** The load of an installation. */
export interface Load {
  agents: number;
  runsPerDay: number;
  stepsPerRun: number;
  logLinesPerRun: number;
  retentionDays: number;
  /** Ratio of the runs of the busiest hour to the average of all hours. */
  peak: number;
}

/** The resources that a load uses with a number of processes of each app. */
export interface Demand {
  /** Units per second, in the busiest hour. */
  rates: Record<UnitKind, number>;
  /** Cores in the busiest hour. */
  cores: Record<Part, number>;
  memoryBytes: { apps: number; postgres: number; redis: number };
  diskBytes: { empty: number; writeAheadLog: number; runs: number; steps: number; logLines: number };
}

export function computeDemand(
  load: Load,
  processes: Record<ServiceApp, number>,
  connections: number,
  { cpuMs, memoryBytes, diskBytes }: SizingFigures,
): Demand {
  const rates = computeRates(load);
  const countProcesses = (part: Part) => (part === 'postgres' || part === 'redis' ? 1 : processes[part]);
  const runs = load.runsPerDay * load.retentionDays;
  return {
    rates,
    cores: mapParts((part) => computeWork(part, rates, cpuMs) + (countProcesses(part) * cpuMs.idleSecond[part]) / 1000),
    memoryBytes: {
      apps: serviceApps.reduce((sum, app) => sum + processes[app] * memoryBytes[app], 0),
      postgres: memoryBytes.postgres + connections * memoryBytes.connection,
      redis: memoryBytes.redis + load.agents * memoryBytes.agentInRedis,
    },
    diskBytes: {
      empty: diskBytes.empty,
      writeAheadLog: diskBytes.writeAheadLog,
      runs: runs * diskBytes.run,
      steps: runs * load.stepsPerRun * diskBytes.step,
      logLines: runs * load.logLinesPerRun * diskBytes.logLine,
    },
  };
}

/** Cores that a part needs for the work alone, without those that its processes use while they have none. */
export function computeWork(part: Part, rates: Record<UnitKind, number>, cpuMs: SizingFigures['cpuMs']): number {
  return unitKinds.reduce((sum, kind) => sum + rates[kind] * cpuMs[kind][part], 0) / 1000;
}

export function computeRates({
  agents,
  runsPerDay,
  stepsPerRun,
  logLinesPerRun,
  peak,
}: Load): Record<UnitKind, number> {
  const run = (runsPerDay / secondsPerDay) * peak;
  const logBatch = run * Math.ceil(logLinesPerRun / linesPerBatch);
  return { heartbeat: agents / heartbeatSeconds, run, step: run * stepsPerRun, logBatch };
}

export function sumValues(values: Record<string, number>): number {
  return Object.values(values).reduce((sum, value) => sum + value, 0);
}

function mapParts(value: (part: Part) => number): Record<Part, number> {
  return Object.fromEntries(parts.map((part) => [part, value(part)])) as Record<Part, number>;
}
